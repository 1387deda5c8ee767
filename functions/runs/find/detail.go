package find

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/mask"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/replay"
	"github.com/stoker-ml/stoker/functions/runs"
)

// Summary is one line of a list of runs.
type Summary = runs.State

// Detail is everything that is known of a run.
type Detail struct {
	Summary
	Events     []Event          `json:"facts"`
	Since      time.Time        `json:"since,omitzero"`   // of the first event
	Expires    time.Time        `json:"expires,omitzero"` // if it waits for events until then
	Job        string           `json:"job,omitempty"`
	Study      string           `json:"study,omitempty"`    // the search that found, or is to find, its hyperparameters
	Reused     bool             `json:"reused,omitempty"`   // the study is another run's
	Revision   uint64           `json:"revision,omitempty"` // of the pipeline, pinned when its events were complete
	Lease      *events.Lease    `json:"lease,omitempty"`
	Heartbeat  time.Time        `json:"heartbeat,omitzero"` // the last of its worker, by the bus's clock
	Progress   *events.Progress `json:"progress,omitempty"` // the last that its worker reported
	DeadLetter uint64           `json:"dead_letter,omitempty"`
	Outcome    json.RawMessage  `json:"outcome,omitempty"`

	Configuration json.RawMessage `json:"configuration,omitempty"` // the pipeline at Revision, with every default filled in and secrets hidden

	Settings json.RawMessage `json:"settings,omitempty"` // that its model was trained with, defaults included, as reported by the module

	Trained *events.ModelTrained `json:"-"` // the model of Outcome, if it is one
	Failed  events.Failed        `json:"-"` // or the failure; the log is that of the search if the run ended with its tuning
}

// Event is one event of a run.
type Event struct {
	Sequence uint64      `json:"sequence"`
	Kind     events.Kind `json:"kind"`
	ID       string      `json:"id"`
	Source   string      `json:"source"`
	Stored   time.Time   `json:"stored"`
	Ignored  string      `json:"ignored,omitempty"` // why it has no effect on the run

	event runs.RunEvent
}

// Of gathers a run's state from the log, the buckets and the dead letters.
func Of(ctx context.Context, bus events.Bus, key Key) (Detail, error) {
	d := Detail{Summary: Summary{Pipeline: key.Pipeline, Run: key.Run}}
	if err := d.readEvents(ctx, bus); err != nil {
		return d, err
	}
	finished, err := LastOutcomes(ctx, bus, events.Query{Pipeline: key.Pipeline, Run: key.Run})
	if err != nil {
		return d, err
	}
	known, err := openBuckets(ctx, bus)
	if err != nil {
		return d, err
	}
	entry, err := known.joins.Get(ctx, dispatch.JoinKey(key.Pipeline, key.Run))
	if errors.Is(err, events.ErrNotFound) {
		d.markIgnored(ctx, known, join.New(key.Pipeline, key.Run))
		return d.withoutJoin(ctx, bus, finished[key])
	}
	if err != nil {
		return d, err
	}
	d.Summary = known.explain(ctx, entry, finished[key])
	if d.State == runs.Unclear {
		return d, nil
	}
	j, err := dispatch.DecodeJoin(entry)
	if err != nil {
		return d, err
	}
	return d, errors.Join(d.readJoin(ctx, known, j), d.readStudy(ctx, bus), d.readDead(ctx, bus), d.readProgress(ctx, bus))
}

// withoutJoin is a run without a join: no dispatcher has handled its events yet, or they were
// refused.
func (d Detail) withoutJoin(ctx context.Context, bus events.Bus, last runs.LastOutcome) (Detail, error) {
	d.Summary.State, d.Updated = runs.Waiting, d.Since
	if last.State.State != "" {
		d.Summary = last.State
	}
	return d, d.readDead(ctx, bus)
}

// readFacts reads the run's events, and keeps the last outcome whole.
func (d *Detail) readEvents(ctx context.Context, bus events.Bus) error {
	for recorded, err := range bus.Read(ctx, events.Query{Pipeline: d.Pipeline, Run: d.Run}) {
		if err != nil {
			return err
		}
		if recorded.Err != nil {
			continue // it is a dead letter
		}
		event := recorded.Event
		d.Events = append(d.Events, newEvent(recorded))
		if len(d.Events) == 1 {
			d.Since = recorded.Message.Stored
		}
		d.readFailure(event)
		if ready, ok := event.Data.(*events.HParamsReady); ok {
			d.Reused = ready.Reused
		}
		if events.EndsRun(event) {
			d.Outcome = mask.JSON(runs.JSON(event))
			d.Trained, _ = event.Data.(*events.ModelTrained)
			d.Settings = nil
			if d.Trained != nil {
				d.Settings = d.Trained.Settings
			}
		}
	}
	return nil
}

func newEvent(recorded events.Recorded) Event {
	return Event{
		Sequence: recorded.Message.Sequence, Kind: recorded.Event.Data.Kind(), ID: recorded.Event.ID, Source: recorded.Event.Source,
		Stored: recorded.Message.Stored, event: runs.NewRunEvent(recorded),
	}
}

// markIgnored sets why an event of the run has no effect on it.
func (d *Detail) markIgnored(ctx context.Context, known buckets, j join.Join) {
	spec, err := dispatch.SpecAt(ctx, known.pipelines, d.Pipeline, 0) // the one that is applied now
	if err != nil {
		spec = pipeline.Pipeline{} // it was removed, or can't be read: the join alone answers
	}
	all := make([]runs.RunEvent, len(d.Events))
	for i, f := range d.Events {
		all[i] = f.event
	}
	for i, why := range runs.Ignored(j, spec, all) {
		d.Events[i].Ignored = why
	}
}

// readStudy finds the search that the run's hyperparameters are from. A run whose module searches
// itself, or that is not tuned, has none.
func (d *Detail) readStudy(ctx context.Context, bus events.Bus) error {
	study, err := studyOfRun(ctx, bus, d.Pipeline, d.Run)
	if errors.Is(err, events.ErrNotFound) {
		return nil
	}
	d.Study = study.ID
	return err
}

// readFailure keeps the last failure, with a log if any had one.
func (d *Detail) readFailure(event events.Event) {
	var failed events.Failed
	switch data := event.Data.(type) {
	case *events.TuningFailed:
		failed = data.Failed
	case *events.TrainingFailed:
		failed = data.Failed
	default:
		return
	}
	if failed.LogTail == "" {
		failed.Log, failed.LogTail = d.Failed.Log, d.Failed.LogTail
	}
	d.Failed = failed
}

func (d *Detail) readJoin(ctx context.Context, known buckets, j join.Join) error {
	d.markIgnored(ctx, known, j)
	stage := j.Current()
	d.Job, d.Revision = stage.Job, stage.Revision
	if err := d.readConfiguration(ctx, known, j); err != nil {
		return err
	}
	if d.State == runs.Waiting {
		spec, err := dispatch.SpecAt(ctx, known.pipelines, j.Pipeline, j.Stage(events.FunctionTrain).Revision)
		if err != nil {
			return err
		}
		d.Expires, _ = j.Deadline(spec)
	}
	held, err := known.lease(ctx, d.Job)
	if held.Number > 0 && (d.State == runs.Running || d.State == runs.Tuning || d.State == runs.Queued) {
		d.Lease = &held.Lease
		if held.Holder != "" {
			d.Heartbeat = held.Written
		}
	}
	return err
}

// readConfiguration keeps the pipeline that the run is trained with: at the revision that was
// pinned when its events were complete. If the bus has lost the revision, there is none.
func (d *Detail) readConfiguration(ctx context.Context, known buckets, j join.Join) error {
	if d.Revision == 0 {
		return nil
	}
	spec, err := dispatch.SpecAt(ctx, known.pipelines, j.Pipeline, d.Revision)
	if errors.Is(err, events.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	d.Configuration, err = spec.Masked()
	return err
}

// readDead finds the newest dead letter of the run.
func (d *Detail) readDead(ctx context.Context, bus events.Bus) error {
	deadLetters, err := replay.DeadLetters(ctx, bus)
	for _, deadLetter := range deadLetters {
		if deadLetter.Pipeline == d.Pipeline && deadLetter.Run == d.Run {
			d.DeadLetter = deadLetter.Number
		}
	}
	return err
}

// progressKeeper is a bus that keeps the last progress of each job.
type progressKeeper interface {
	LastProgress(ctx context.Context, pipeline, run, job string) (events.Progress, error)
}

func (d *Detail) readProgress(ctx context.Context, bus events.Bus) error {
	keeper, ok := bus.(progressKeeper)
	if !ok || d.State != runs.Running && d.State != runs.Tuning {
		return nil
	}
	p, err := keeper.LastProgress(ctx, d.Pipeline, d.Run, d.Job)
	if errors.Is(err, events.ErrNotFound) {
		return nil
	}
	d.Progress = &p
	return err
}

// Last is the sequence of the newest event of the run that was read.
func (d Detail) Last() uint64 {
	if len(d.Events) == 0 {
		return 0
	}
	return d.Events[len(d.Events)-1].Sequence
}
