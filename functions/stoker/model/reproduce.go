package model

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/admin/reproduce"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/run"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// reproduceFlags are the flags of `stoker reproduce`.
type reproduceFlags struct {
	opts    reproduce.Options
	timeout time.Duration
}

func newReproduce(a *app.App) *cobra.Command {
	var f reproduceFlags
	cmd := &cobra.Command{
		Use:               "reproduce MODEL",
		GroupID:           app.Act,
		Annotations:       app.Info{Role: access.Operator}.Annotations(),
		ValidArgsFunction: a.PipelineOrRunNames,
		Short:             "Train a model again from its inputs, and compare",
		Long: "Trains a model again: the same data, module, arguments, hyperparameters and base model, at the pipeline's revision of\n" +
			"that run, on a worker. The new model belongs to pipeline NAME" + reproduce.Suffix + ", so that no run uses it as the latest model. Then the\n" +
			"two models are compared by digest, else by weights and metrics. If inputs are gone or have changed, it lists them instead.\n\n" +
			"Exit status 0 if they are the same, 1 if they differ or if the model can't be reproduced.\n\n" + modelNamesHelp,
		Example: "  stoker reproduce penguin/monday --timeout 1h\n  stoker reproduce penguin --tolerance 1e-6 -o json",
		Args:    app.Named("a model"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.opts.Tolerance < 0 {
				return exit.Usage(fmt.Errorf("--tolerance %g: expected 0 or more", f.opts.Tolerance))
			}
			if err := app.CheckTimeout(true, f.timeout); err != nil {
				return err
			}
			return a.WithLink(cmd.Context(), func(ctx context.Context, l app.Link) error { return reproduceModel(ctx, a, l, args[0], f) })
		},
	}
	cmd.Flags().Float64Var(&f.opts.Tolerance, "tolerance", 0, "largest difference of a weight or a metric that counts as equal")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, "how long to wait for the training, then exit status 124; default: forever")
	return cmd
}

func reproduceModel(ctx context.Context, a *app.App, l app.Link, model string, f reproduceFlags) error {
	plan, err := reproduce.Prepare(ctx, l.Bus, l.Store, model, rand.Text())
	if err != nil {
		return noModel(ctx, a, l.Bus, model, err)
	}
	if len(plan.Missing) > 0 {
		return cannotReproduce(a, model, plan)
	}
	job := plan.Job
	fmt.Fprintf(a.Notes(), "training again as run %s of pipeline %s\n", job.Run, job.Pipeline)
	var made *events.ModelTrained
	late := fmt.Errorf("%s: no outcome within %s; run %s of pipeline %s continues", model, f.timeout, job.Run, job.Pipeline)
	err = exit.AtMost(ctx, f.timeout, late, func(ctx context.Context) (err error) {
		made, err = enqueueAndFollow(ctx, a, l.Bus, job)
		return err
	})
	if err != nil {
		return exit.Interrupted(ctx, err, fmt.Sprintf("run %s of pipeline %s continues", job.Run, job.Pipeline))
	}
	report, err := reproduce.Compare(ctx, l.Store, plan.Model.Event, made, f.opts)
	if err != nil {
		return err
	}
	report.Explain(job)
	if err := a.Print(report, func(w io.Writer) { reportTable(w, report) }); err != nil {
		return err
	}
	if !report.Same {
		return fmt.Errorf("%s: the new model differs from the original", model)
	}
	return nil
}

// cannotReproduce returns the error that lists what does not exist any more.
func cannotReproduce(a *app.App, model string, plan reproduce.Plan) error {
	if err := a.Print(map[string]any{"missing": plan.Missing}, func(w io.Writer) {
		terminal.Row(w, "WHAT", "STATE", "ADDRESS", "WHY")
		for _, n := range plan.Missing {
			terminal.Row(w, strings.ReplaceAll(string(n.Kind), "_", " "), n.State, n.URI, n.Why)
		}
	}); err != nil {
		return err
	}
	return fmt.Errorf("%s can't be reproduced: %d of its inputs are gone or have changed", model, len(plan.Missing))
}

// enqueueAndFollow enqueues a job and shows its progress until its outcome is published.
func enqueueAndFollow(ctx context.Context, a *app.App, bus events.Bus, job events.Job) (made *events.ModelTrained, err error) {
	show := a.Display()
	defer show.Close()
	watching, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	progress := bus.Watch(watching, job.Pipeline, job.Run)
	if err := bus.Enqueue(ctx, job); err != nil {
		return nil, err
	}
	var both errgroup.Group
	both.Go(func() error {
		for p, err := range progress {
			if err != nil {
				return exit.IgnoreEnd(watching, err)
			}
			show.Progress(p)
		}
		return nil
	})
	both.Go(func() (err error) {
		defer stop(exit.ErrOver)
		made, err = outcomeOf(watching, a, bus, job)
		return err
	})
	return made, both.Wait()
}

// outcomeOf waits for the outcome of a job with a run of its own.
func outcomeOf(ctx context.Context, a *app.App, bus events.EventLog, job events.Job) (*events.ModelTrained, error) {
	query := events.Query{Kinds: events.OutcomeKinds(), Pipeline: job.Pipeline, Run: job.Run, Follow: true}
	for recorded, err := range bus.Read(ctx, query) {
		if err != nil {
			return nil, err
		}
		switch data := recorded.Event.Data.(type) {
		case *events.ModelTrained:
			return data, nil
		case *events.TrainingFailed:
			run.Describe(a.Stderr, recorded.Event)
			return nil, fmt.Errorf("the model can't be reproduced: %s", runs.FirstLine(data.Message))
		default: // the query has no other kinds
		}
	}
	return nil, context.Cause(ctx)
}

func reportTable(w io.Writer, r reproduce.Report) {
	terminal.Row(w, "compared", r.How)
	terminal.Row(w, "then", r.Then.Digest, r.Then.Model)
	terminal.Row(w, "again", r.Again.Digest, r.Again.Model)
	for _, in := range r.Inputs {
		terminal.Row(w, "input", in)
	}
	if r.Weights != nil {
		terminal.Row(w, "weights", fmt.Sprintf("largest difference %g", r.Weights.Largest), fmt.Sprintf("of %d numbers %s", r.Weights.Compared, r.Weights.Where))
		for _, unlike := range r.Weights.Unlike {
			terminal.Row(w, "variable", unlike)
		}
	}
	if r.Note != "" {
		terminal.Row(w, "note", r.Note)
	}
	if r.Hint != "" {
		terminal.Row(w, "hint", r.Hint)
	}
	for _, file := range r.Files {
		terminal.Row(w, "differs", file)
	}
	for _, m := range r.Metrics {
		terminal.Row(w, "metric "+m.Name, number(m.Then), number(m.Again))
	}
}

func number(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%g", *v)
}
