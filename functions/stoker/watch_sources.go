package main

import (
	"context"
	"errors"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/plan"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// facts shows the log from now on, or from its beginning, each fact once.
func (w *watcher) facts(ctx context.Context) error {
	query := events.Query{Kinds: w.factKinds(), Pipeline: w.pipeline, Run: w.watchFlags.run, From: 1}
	if !w.all {
		if err := w.again(ctx, func(ctx context.Context) error { return w.skip(ctx, &query) }); !errors.Is(err, errThere) {
			return err
		}
	}
	query.Follow = true
	return w.again(ctx, func(ctx context.Context) error {
		for recorded, err := range w.box.Read(ctx, query) {
			if err != nil {
				return err
			}
			query.From = recorded.Message.Sequence + 1
			if err := w.show(factWatched(recorded)); err != nil {
				return err
			}
		}
		return nil
	})
}

var errThere = errors.New("what is there was read")

// skip goes to the end of what is there.
func (w *watcher) skip(ctx context.Context, query *events.Query) error {
	for recorded, err := range w.box.Read(ctx, *query) {
		if err != nil {
			return err
		}
		query.From = recorded.Message.Sequence + 1
	}
	return errThere
}

func factWatched(recorded events.Recorded) watched {
	line := watched{Time: recorded.Message.Stored, Sequence: recorded.Message.Sequence}
	if recorded.Err != nil {
		line.Kind, line.Error, line.what = "refused", recorded.Err.Error(), recorded.Message.Subject+": "+recorded.Err.Error()
		return line
	}
	fact := recorded.Fact
	line.Kind, line.Pipeline, line.Run, line.Fact = string(fact.Data.Kind()), fact.Pipeline, fact.Run, runs.JSON(fact)
	line.what = said(fact.Data)
	return line
}

// said is the one thing worth knowing of a fact.
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
		return terminal.Metrics(data.Metrics) + "  " + data.Model.URI
	case *events.TrainingFailed:
		return string(data.Reason) + ": " + runs.FirstLine(data.Message)
	case *events.TuningFailed:
		return string(data.Reason) + ": " + runs.FirstLine(data.Message)
	}
	return ""
}

// runs shows how joins move from now on.
func (w *watcher) runs(ctx context.Context) error {
	joins, err := w.box.Register(ctx, events.RegisterJoins)
	if err != nil {
		return err
	}
	now := false
	for entry, err := range joins.Watch(ctx) {
		switch {
		case err != nil:
			return err
		case entry.Revision == 0:
			now = true // what was there has come
			continue
		case !now || entry.Deleted:
			continue
		}
		join, err := dispatch.DecodeJoin(entry)
		if err != nil || !w.of(join.Pipeline, join.Run) {
			continue // what is no join is the dispatcher's to mend, and to tell of
		}
		if err := w.show(joinWatched(join, entry)); err != nil {
			return err
		}
	}
	return nil
}

func joinWatched(join plan.Join, entry events.Entry) watched {
	line := watched{Time: entry.Written, Kind: watchRun, Pipeline: join.Pipeline, Run: join.Run, State: string(join.State), Job: join.Job}
	switch {
	case join.State == plan.Ended:
		line.what = "ended: " + runs.FirstLine(join.Ending.Message)
	case join.IsTuned():
		line.Job, line.what = join.Tuning.Job, "is tuned"
	case join.State == plan.Waiting:
		line.what = "waits for more facts"
	case join.State == plan.Complete:
		line.what = "has all that it waits for"
	default:
		line.what = "job " + join.Job
	}
	if join.Outcome != 0 {
		line.what += ", whose outcome is noted"
	}
	return line
}

func (w *watcher) of(pipeline, run string) bool {
	return (w.pipeline == "" || w.pipeline == pipeline) && (w.watchFlags.run == "" || w.watchFlags.run == run)
}

// progress shows what jobs report from now on.
func (w *watcher) progress(ctx context.Context) error {
	for p, err := range w.box.Watch(ctx, w.pipeline, w.watchFlags.run) {
		if err != nil {
			return err
		}
		line := watched{
			Time: p.Time, Kind: watchProgress, Pipeline: p.Pipeline, Run: p.Run, Job: p.Job, Progress: &p,
			what: runs.FirstLine(p.Phase + " " + terminal.Step(p) + terminal.Metrics(p.Metrics)),
		}
		if err := w.show(line); err != nil {
			return err
		}
	}
	return nil
}
