package watch

import (
	"context"
	"errors"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/runs"
)

// events shows the log from now on, or from its beginning, each event once.
func (w *watcher) events(ctx context.Context) error {
	query := events.Query{Kinds: w.eventKinds(), Pipeline: w.Pipeline, Run: w.Options.Run, From: 1}
	if !w.All {
		if err := w.again(ctx, func(ctx context.Context) error { return w.skip(ctx, &query) }); !errors.Is(err, errThere) {
			return err
		}
	}
	query.Follow = true
	return w.again(ctx, func(ctx context.Context) error {
		for recorded, err := range w.bus.Read(ctx, query) {
			if err != nil {
				return err
			}
			query.From = recorded.Message.Sequence + 1
			if err := w.line(ofEvent(recorded)); err != nil {
				return err
			}
		}
		return nil
	})
}

var errThere = errors.New("what is there was read")

// skip moves to the end of the log.
func (w *watcher) skip(ctx context.Context, query *events.Query) error {
	for recorded, err := range w.bus.Read(ctx, *query) {
		if err != nil {
			return err
		}
		query.From = recorded.Message.Sequence + 1
	}
	return errThere
}

func ofEvent(recorded events.Recorded) Line {
	line := Line{Time: recorded.Message.Stored, Sequence: recorded.Message.Sequence}
	if recorded.Err != nil {
		line.Kind, line.Error, line.What = "refused", recorded.Err.Error(), recorded.Message.Subject+": "+recorded.Err.Error()
		return line
	}
	event := recorded.Event
	line.Kind, line.Pipeline, line.Run, line.Event = string(event.Data.Kind()), event.Pipeline, event.Run, runs.JSON(event)
	line.What = said(event.Data)
	return line
}

// said is the most important detail of an event.
func said(data events.Data) string {
	switch data := data.(type) {
	case *events.ExamplesReady:
		return data.Examples[0].URI
	case *events.TransformReady:
		return data.TransformGraph
	case *events.HParamsReady:
		return data.Hyperparameters
	case *events.ModelBlessed:
		return data.Model
	case *events.ModelTrained:
		return runs.Metrics(data.Metrics) + "  " + data.Model.URI
	case *events.TrainingFailed:
		return string(data.Reason) + ": " + runs.FirstLine(data.Message)
	case *events.TuningFailed:
		return string(data.Reason) + ": " + runs.FirstLine(data.Message)
	}
	return ""
}

// runs shows state changes of joins from now on.
func (w *watcher) runs(ctx context.Context) error {
	joins, err := w.bus.KV(ctx, events.KVJoins)
	if err != nil {
		return err
	}
	now := false
	for entry, err := range joins.Watch(ctx) {
		switch {
		case err != nil:
			return err
		case entry.Revision == 0:
			now = true // all entries have been read
			continue
		case !now || entry.Deleted:
			continue
		}
		j, err := dispatch.DecodeJoin(events.Entry(entry))
		if err != nil || !w.of(j.Pipeline, j.Run) {
			continue // the dispatcher repairs and logs an unreadable join
		}
		if err := w.line(ofJoin(j, events.Entry(entry))); err != nil {
			return err
		}
	}
	return nil
}

func ofJoin(j join.Join, entry events.Entry) Line {
	line := Line{Time: entry.Written, Kind: Run, Pipeline: j.Pipeline, Run: j.Run, State: string(j.State), Job: j.Current().Job}
	switch {
	case j.State == join.Ended:
		line.What = "ended: " + runs.FirstLine(j.Ending.Message)
	case j.IsSearching():
		line.What = "is tuned"
	case j.State == join.Waiting:
		line.What = "waits for more facts"
	case j.State == join.Complete:
		line.What = "has all that it waits for"
	default:
		line.What = "job " + line.Job
	}
	if j.Current().Outcome != 0 {
		line.What += ", whose outcome is noted"
	}
	return line
}

func (w *watcher) of(pipeline, run string) bool {
	return (w.Pipeline == "" || w.Pipeline == pipeline) && (w.Options.Run == "" || w.Options.Run == run)
}

// progress shows what jobs report from now on.
func (w *watcher) progress(ctx context.Context) error {
	for p, err := range w.bus.Watch(ctx, w.Pipeline, w.Options.Run) {
		if err != nil {
			return err
		}
		line := Line{
			Time: p.Time, Kind: Progress, Pipeline: p.Pipeline, Run: p.Run, Job: p.Job, Progress: &p,
			What: runs.FirstLine(p.Phase + " " + runs.Step(p) + runs.Metrics(p.Metrics)),
		}
		if err := w.line(line); err != nil {
			return err
		}
	}
	return nil
}
