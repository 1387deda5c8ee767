package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/inspect"
	"github.com/stoker-ml/stoker/functions/admin/replay"
	"github.com/stoker-ml/stoker/functions/internal/mask"
	"github.com/stoker-ml/stoker/functions/internal/spelling"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/runs/follow"
	"github.com/stoker-ml/stoker/functions/runs/query"
	"github.com/stoker-ml/stoker/functions/runs/submit"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// PublishAndFollow publishes events of one run and shows its progress until it has ended, or until
// timeout, unless that is 0; the run then continues. An event that turns out to be ignored is an
// error.
func PublishAndFollow(ctx context.Context, a *app.App, bus events.Bus, evs []events.Event, timeout time.Duration) error {
	var outcome events.Event
	run := evs[0].Run
	late := fmt.Errorf("run %s: no outcome within %s; `%s` shows what it waits for", run, timeout, a.Command("runs"))
	err := exit.AtMost(ctx, timeout, late, func(ctx context.Context) (err error) {
		outcome, err = Follow(ctx, a, bus, evs)
		return err
	})
	if none, ignored := errors.AsType[*submit.NoEffect](err); ignored {
		return Refusal(a, none)
	}
	if errors.Is(err, follow.ErrNotPermitted) {
		return exit.Unreachable(fmt.Errorf("--wait: %v; publish without --wait, which is harmless if the event was stored", err))
	}
	if err != nil {
		return exit.Interrupted(ctx, err, fmt.Sprintf("run %s continues, `%s` shows it", run, a.Command("runs")))
	}
	if err := a.Print(runs.JSON(outcome), func(w io.Writer) { Describe(w, outcome) }); err != nil {
		return err
	}
	return endedWell(ctx, a, bus, runs.Outcome(events.Recorded{Event: outcome}))
}

// Follow publishes the events of a run, and shows its progress until it has an outcome.
func Follow(ctx context.Context, a *app.App, bus events.Bus, evs []events.Event) (events.Event, error) {
	show := a.Display()
	defer show.Close()
	return follow.Events(ctx, bus, evs, follow.Listener{
		Progress: show.Progress,
		Waits: func(why string) {
			fmt.Fprintf(a.Notes(), "run %s %s\n", terminal.Line(evs[0].Run), terminal.Line(why))
		},
	})
}

// Refusal adds to the error of an event without effect what to do instead.
func Refusal(a *app.App, none *submit.NoEffect) error {
	event := none.Event
	if none.Unknown {
		hint := "; "
		if similar := spelling.Suggestion(event.Pipeline, none.Applied); similar != "" {
			hint = similar + " " // it ends with a question mark
		}
		return exit.NotFound(fmt.Errorf("%w%s`%s` deploys one, --anyway publishes the event nevertheless", none, hint, a.Command("apply FILE")))
	}
	of := app.Quoted(event.Run) + " --pipeline " + event.Pipeline
	if events.RequestOf(event.Data).Force {
		return fmt.Errorf("%w; publish it under another --run, or train this run again: `%s`", none, a.Command("replay --run "+of+" --force"))
	}
	return fmt.Errorf("%w; publish it under another --run, or start this run's inputs again: `%s`", none, a.Command("runs rerun "+of))
}

// Describe prints an outcome for people.
func Describe(w io.Writer, event events.Event) {
	switch data := event.Data.(type) {
	case *events.ModelTrained:
		terminal.Row(w, "run", event.Run)
		terminal.Row(w, "model", data.Model.URI)
		terminal.Row(w, "execution", data.Execution)
		describeModel(w, data)
	case *events.TrainingFailed:
		terminal.Row(w, "run", event.Run)
		terminal.Row(w, "failed", runs.FailureLine(data))
		if more := runs.Details(data.Message, data.LogTail); more != "" {
			fmt.Fprintln(w, more)
		}
	default: // other events are no outcomes
	}
}

// describeModel prints the metrics of a model, what it started from, how its files compare with it,
// and whether it existed before.
func describeModel(w io.Writer, data *events.ModelTrained) {
	terminal.Row(w, "metrics", runs.Metrics(data.Metrics))
	if values := hyperparametersLine(data.Hyperparameters); values != "" {
		terminal.Row(w, "hyperparameters", values)
	}
	if data.BaseModel != "" {
		terminal.Row(w, "base model", data.BaseModel)
	}
	if s := data.Skew; s != nil {
		figures := inspect.Skew(*s)
		terminal.Row(w, "skew", runs.FirstLine(figures.String()))
	}
	for _, note := range data.Notes {
		terminal.Row(w, "note", note)
	}
	if data.Cached {
		terminal.Row(w, "cached", "the same inputs, module and settings were trained before; the existing model is used")
	}
}

// shownValue returns a hyperparameter's value on one line, or mask.Hidden.
func shownValue(name string, value any) string {
	if mask.Name(name) {
		return mask.Hidden
	}
	return mask.Text(runs.FirstLine(fmt.Sprint(value)))
}

// hyperparametersLine lists values by name, without the tuner's own entries; "" if there are none.
func hyperparametersLine(values map[string]any) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if strings.HasPrefix(name, space.Own) {
			continue
		}
		all = append(all, fmt.Sprintf("%s %s", name, shownValue(name, values[name])))
	}
	return strings.Join(all, "  ")
}

// endedWell returns nil for a run that has a model. For another it returns why it has none, in one
// sentence with the next command to type.
func endedWell(ctx context.Context, a *app.App, bus events.Bus, ended runs.Summary) error {
	switch ended.State {
	case runs.Trained:
		return nil
	case runs.Cancelled: // or superseded, and by which
		return fmt.Errorf("run %s was %s", ended.Run, cmp.Or(runs.FirstLine(ended.Error), runs.Cancelled))
	}
	why := fmt.Sprintf("run %s %s: %s", ended.Run, ended.State, ended.What())
	detail, err := query.Of(ctx, bus, runs.Key{Pipeline: ended.Pipeline, Run: ended.Run})
	if err != nil { // the reason matters, even if there is no next command
		return errors.New(why)
	}
	return fmt.Errorf("%s; %s", why, wayOn(a, detail))
}

// wayOn returns the commands after a failure: one that shows the details, and one that tries the
// run again.
func wayOn(a *app.App, d query.Detail) string {
	name := app.Quoted(d.Pipeline + "/" + d.Run)
	if d.DeadLetter == 0 {
		return fmt.Sprintf("`%s` shows the next steps", a.Command("runs show "+name))
	}
	deadLetter := fmt.Sprintf("`%s` shows its dead letter; once the cause is fixed, `%s` runs its inputs with the current pipeline",
		a.Command(fmt.Sprintf("dead show %d", d.DeadLetter)), a.Command("runs rerun "+app.Quoted(d.Run)+" --pipeline "+d.Pipeline))
	if !d.EndedWithoutJob {
		deadLetter += fmt.Sprintf(", and `%s` repeats the same job", a.Command(fmt.Sprintf("dead retry %d", d.DeadLetter)))
	}
	if d.Failed.Log == "" {
		return deadLetter
	}
	return fmt.Sprintf("`%s` shows its log, %s", a.Command("logs "+name), deadLetter)
}

// PinnedHelp explains for users who repair a pipeline and try again which revision is used.
const PinnedHelp = "A job keeps the revision of the pipeline that was applied when its events were complete. `stoker runs rerun` runs\n" +
	"the inputs of a run again with the current revision."

// PinnedNote explains the same for one job.
func PinnedNote(revision uint64) string {
	return fmt.Sprintf("a retry uses revision %d of the pipeline; `stoker runs rerun` uses the current revision", revision)
}

// WarnPinned warns a user who tries a job again if a newer revision of its pipeline is applied,
// which will not be used. Errors are ignored, because it is only advice.
func WarnPinned(ctx context.Context, a *app.App, bus runs.Source, line replay.DeadLetter) {
	job, ok := replay.JobOf(line.DeadLetter)
	if !ok {
		return
	}
	if applied, err := runs.Open(bus, runs.Options{}).ReadPipeline(ctx, job.Pipeline, 0); err == nil && applied.Revision > job.Revision {
		fmt.Fprintf(a.Notes(), "dead letter %d: revision %d of pipeline %s is applied, but %s\n",
			line.Number, applied.Revision, job.Pipeline, PinnedNote(job.Revision))
	}
}
