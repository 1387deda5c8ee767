package reproduce

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/runs/lineage"
	"github.com/stoker-ml/stoker/storage"
)

// Plan is how a model is made again.
type Plan struct {
	Model   lineage.Named
	Job     events.Job     // not enqueued yet; zero if Missing is not empty
	Missing []lineage.Node // inputs of the model that are gone or have changed
}

// ErrLost reports that how a model was made is no longer known.
var ErrLost = errors.New("the record of its training is lost")

// Suffix is appended to the pipeline's name for models that are made again: they are not the newest
// model of any pipeline, and start nothing.
const Suffix = "-reproduced"

// Prepare makes the job that makes a model again: that of the run that made it, with the pipeline's
// revision of that time, as a run of a pipeline that is named with Suffix. request identifies the
// try: the same request makes the same job. ref is as in lineage.Of.
func Prepare(ctx context.Context, bus events.Bus, store storage.Store, ref, request string) (Plan, error) {
	named, err := lineage.Find(ctx, bus, ref)
	if err != nil {
		return Plan{}, err
	}
	if named.Event == nil {
		return Plan{}, fmt.Errorf("%s: the log has no event for it: %w", ref, ErrLost)
	}
	p := Plan{Model: named}
	graph, err := lineage.Of(ctx, bus, store, ref, &lineage.Options{Depth: 1})
	if err != nil {
		return p, err
	}
	target, _ := graph.Node(graph.Target)
	for _, n := range graph.Differing() {
		if n.ID != graph.Target {
			p.Missing = append(p.Missing, n)
		}
	}
	if len(p.Missing) > 0 {
		return p, nil
	}
	if target.Run == "" {
		return p, fmt.Errorf("%s: no event names the run that trained it: %w", ref, ErrLost)
	}
	p.Job, err = job(ctx, bus, target, named.Event, request)
	return p, err
}

// job returns the job of the run that made a model, under another name.
func job(ctx context.Context, bus events.Bus, made lineage.Node, trained *events.ModelTrained, request string) (events.Job, error) {
	index := runs.Open(bus, runs.Options{})
	j, err := index.Join(ctx, runs.Key{Pipeline: made.Pipeline, Run: made.Run})
	if errors.Is(err, events.ErrNotFound) {
		return events.Job{}, fmt.Errorf("the join of run %s of pipeline %s is lost; `stoker replay` rebuilds it: %w", made.Run, made.Pipeline, ErrLost)
	}
	if err != nil {
		return events.Job{}, err
	}
	pinned, err := index.ReadPipeline(ctx, j.Pipeline, j.Stage(events.FunctionTrain).Revision)
	if errors.Is(err, events.ErrNotFound) {
		return events.Job{}, fmt.Errorf("%w: %w", err, ErrLost)
	}
	if err != nil {
		return events.Job{}, err
	}
	job, err := j.Job(pinned.Spec, events.FunctionTrain, join.Retry{Salt: events.DerivedID("reproduce", request, trained.Execution), Request: request})
	if err != nil {
		return job, err
	}
	job.ID = events.DerivedID("reproduce", request, job.ID)
	job.Pipeline += Suffix
	job.Run = events.DerivedID(request)[:8] + "/" + job.Run
	return job, job.Validate()
}
