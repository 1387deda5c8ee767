package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/plan"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
)

// runDetail is everything that `stoker runs show` knows of a run.
type runDetail struct {
	runState
	Facts      []factLine       `json:"facts"`
	Since      time.Time        `json:"since,omitzero"`   // of the first fact
	Expires    time.Time        `json:"expires,omitzero"` // if it waits for facts until then
	Job        string           `json:"job,omitempty"`
	Study      string           `json:"study,omitempty"`    // the search that found its hyperparameters, or searches
	Reused     bool             `json:"reused,omitempty"`   // that search was another run's
	Revision   uint64           `json:"revision,omitempty"` // of the pipeline, pinned when its facts had come
	Lease      *events.Lease    `json:"lease,omitempty"`
	Heartbeat  time.Time        `json:"heartbeat,omitzero"` // the last of its worker, by the bus's clock
	Asked      time.Time        `json:"-"`
	Progress   *events.Progress `json:"progress,omitempty"` // the last that its worker reported
	DeadLetter uint64           `json:"dead_letter,omitempty"`
	Outcome    json.RawMessage  `json:"outcome,omitempty"`
	Next       []string         `json:"next,omitempty"` // commands that help

	trained *events.ModelTrained // what Outcome tells of, if that is a model
	failed  events.Failed        // or a failure; the log is that of the search where the run ended with its tuning
}

// factLine is one fact of a run.
type factLine struct {
	Sequence uint64      `json:"sequence"`
	Kind     events.Kind `json:"kind"`
	ID       string      `json:"id"`
	Source   string      `json:"source"`
	Stored   time.Time   `json:"stored"`
}

func newRunsShow(app *app) *cobra.Command {
	var pipelineName string
	var waits waitFlags
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "Show one run: its facts, what it waits for, who works on it, what came of it, and how to go on",
		Args:  exactly(1, "a run"),
		Example: "  stoker runs show monday\n" +
			"  stoker runs show monday --wait --timeout 1h -q && ./serve.sh",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := waits.check(); err != nil {
				return err
			}
			return app.withBus(cmd.Context(), func(ctx context.Context, box events.Letterbox) error {
				key, err := findRun(ctx, box, pipelineName, args[0])
				if err != nil {
					return err
				}
				if !waits.wait {
					return app.showRun(ctx, box, key)
				}
				ended, err := app.awaitRun(ctx, box, key, waits.timeout)
				if err != nil {
					return exit.Interrupted(ctx, err, fmt.Sprintf("run %s goes on", key.run))
				}
				if err := app.showRun(ctx, box, key); err != nil {
					return err
				}
				return endedWell(ended)
			})
		},
	}
	waits.add(cmd)
	cmd.Flags().StringVar(&pipelineName, "pipeline", "", "pipeline of the run, where several have one of that name")
	return cmd
}

func (a *app) showRun(ctx context.Context, box events.Letterbox, key runKey) error {
	detail, err := showRun(ctx, box, key)
	if err != nil {
		return err
	}
	detail.Next, detail.Asked = a.nextSteps(detail), time.Now()
	return a.print(detail, detail.table)
}

// showRun gathers what log, registers and dead letters say of a run.
func showRun(ctx context.Context, box events.Letterbox, key runKey) (runDetail, error) {
	d := runDetail{runState: runState{Pipeline: key.pipeline, Run: key.run}}
	if err := d.readFacts(ctx, box); err != nil {
		return d, err
	}
	finished, err := finishedRuns(ctx, box, events.Query{Pipeline: key.pipeline, Run: key.run})
	if err != nil {
		return d, err
	}
	known, err := openRegisters(ctx, box)
	if err != nil {
		return d, err
	}
	entry, err := known.joins.Get(ctx, dispatch.JoinKey(key.pipeline, key.run))
	if errors.Is(err, events.ErrNotFound) {
		return d.withoutJoin(ctx, box, finished[key])
	}
	if err != nil {
		return d, err
	}
	d.runState = known.explain(ctx, entry, finished[key])
	if d.State == runUnclear {
		return d, nil
	}
	join, err := dispatch.DecodeJoin(entry)
	if err != nil {
		return d, err
	}
	return d, errors.Join(d.readJoin(ctx, known, join), d.readStudy(ctx, box), d.readDead(ctx, box), d.readProgress(ctx, box))
}

// withoutJoin is a run that no dispatcher has joined: it has not come to that yet, or its facts were refused.
func (d runDetail) withoutJoin(ctx context.Context, box events.Letterbox, last lastWord) (runDetail, error) {
	d.runState.State, d.Updated = runWaiting, d.Since
	if last.Told.State != "" {
		d.runState = last.Told
	}
	return d, d.readDead(ctx, box)
}

// readFacts reads the run's facts, and keeps the last outcome whole.
func (d *runDetail) readFacts(ctx context.Context, box events.Letterbox) error {
	for recorded, err := range box.Read(ctx, events.Query{Pipeline: d.Pipeline, Run: d.Run}) {
		if err != nil {
			return err
		}
		if recorded.Err != nil {
			continue // it lies in DEAD
		}
		fact := recorded.Fact
		d.Facts = append(d.Facts, factLine{recorded.Message.Sequence, fact.Data.Kind(), fact.ID, fact.Source, recorded.Message.Stored})
		if len(d.Facts) == 1 {
			d.Since = recorded.Message.Stored
		}
		d.readFailure(fact)
		if told, ok := fact.Data.(*events.HParamsReady); ok {
			d.Reused = told.Reused
		}
		if events.EndsRun(fact) {
			d.Outcome = factJSON(fact)
			d.trained, _ = fact.Data.(*events.ModelTrained)
		}
	}
	return nil
}

// readStudy finds the search that the run's hyperparameters are of. A run whose module searches by itself, or that is not tuned, has none.
func (d *runDetail) readStudy(ctx context.Context, box events.Letterbox) error {
	study, err := studyOfRun(ctx, box, d.Pipeline, d.Run)
	if errors.Is(err, events.ErrNotFound) {
		return nil
	}
	d.Study = study.ID
	return err
}

// readFailure keeps the last failure, with a log if any had one.
func (d *runDetail) readFailure(fact events.Fact) {
	var failed events.Failed
	switch data := fact.Data.(type) {
	case *events.TuningFailed:
		failed = data.Failed
	case *events.TrainingFailed:
		failed = data.Failed
	default:
		return
	}
	if failed.LogTail == "" {
		failed.Log, failed.LogTail = d.failed.Log, d.failed.LogTail
	}
	d.failed = failed
}

func (d *runDetail) readJoin(ctx context.Context, known registers, join plan.Join) error {
	d.Job, d.Revision = join.Job, join.Revision
	if join.IsTuned() {
		d.Job, d.Revision = join.Tuning.Job, join.Tuning.Revision
	}
	if d.State == runWaiting {
		spec, err := dispatch.SpecOf(ctx, known.pipelines, join)
		if err != nil {
			return err
		}
		d.Expires, _ = join.Deadline(spec)
	}
	held, err := known.lease(ctx, d.Job)
	if held.Number > 0 && (d.State == runRunning || d.State == runTuning || d.State == runQueued) {
		d.Lease = &held.Lease
		if held.Holder != "" {
			d.Heartbeat = held.Written
		}
	}
	return err
}

// readDead finds the newest dead letter of the run.
func (d *runDetail) readDead(ctx context.Context, box events.Letterbox) error {
	letters, err := deadLetters(ctx, box)
	for _, line := range letters {
		if line.Pipeline == d.Pipeline && line.Run == d.Run {
			d.DeadLetter = line.Number
		}
	}
	return err
}

// progressKeeper is a bus that keeps the last progress of each job.
type progressKeeper interface {
	LastProgress(ctx context.Context, pipeline, run, job string) (events.Progress, error)
}

func (d *runDetail) readProgress(ctx context.Context, box events.Letterbox) error {
	keeper, ok := box.(progressKeeper)
	if !ok || d.State != runRunning && d.State != runTuning {
		return nil
	}
	p, err := keeper.LastProgress(ctx, d.Pipeline, d.Run, d.Job)
	if errors.Is(err, events.ErrNotFound) {
		return nil
	}
	d.Progress = &p
	return err
}
