package lineage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/runs/result"
	"github.com/stoker-ml/stoker/storage"
)

// record is what is known of an execution: the result in its manifest, or the part of it that an
// event has.
type record struct {
	result.Result

	generation    int
	pipeline, run string // the first run that it was made for
	revision      uint64
	module        string // its path or address, as in the pipeline
	moduleFrom    bool   // module is an address in the store
	configuration json.RawMessage
}

func (r record) moduleAddress() string {
	if r.moduleFrom {
		return r.module
	}
	return ""
}

var errNoRecord = errors.New("no record of its creation: neither a manifest in the store nor an event on the bus")

// records finds what is known of executions.
type records struct {
	bus       events.Bus
	store     storage.Store
	pipelines map[string]*pipelineEvents // by pipeline/run
	near      runs.Key                   // the run that was requested, if one was
	makerOf   func(execution string) (runs.Key, bool)
}

// pipelineEvents are the events of a pipeline's executions.
type pipelineEvents struct {
	first map[string]events.Event  // by execution: the first that was not cached, else the first
	data  map[string]events.Inputs // by run: examples with their patterns

	newest Named // model; the zero Named if there is none
}

// record returns what is known of the execution that made an artifact.
func (r *records) record(ctx context.Context, place storage.Place) (record, error) {
	found, err := r.manifest(ctx, place)
	if err != nil && !errors.Is(err, errNoRecord) {
		return record{}, err
	}
	pipeline := path.Base(path.Dir(place.Root.Key)) // <root>/<pipeline>/<Component>
	event, there, eventsErr := r.event(ctx, pipeline, place.Execution)
	if eventsErr != nil {
		return record{}, eventsErr
	}
	if !there {
		found.pipeline = pipeline
		return found, err
	}
	if err != nil {
		found = byEvent(event)
	}
	found.pipeline, found.run = event.Pipeline, event.Run
	output, _ := events.OutputOf(event.Data)
	found.generation = output.Generation
	return found, r.join(ctx, &found)
}

func (r *records) manifest(ctx context.Context, place storage.Place) (found record, err error) {
	m, err := storage.ReadManifest(ctx, r.store, place)
	if errors.Is(err, storage.ErrNotFound) || errors.Is(err, storage.ErrIncomplete) {
		return found, errNoRecord
	}
	if err != nil {
		return found, err
	}
	if found.Result, err = result.Of(m); err != nil {
		return found, fmt.Errorf("manifest %s: %w", place.Manifest(), err)
	}
	return found, nil
}

// byEvent returns the part of the record that an event has.
func byEvent(event events.Event) record {
	switch data := event.Data.(type) {
	case *events.ModelTrained:
		return record{Result: result.Result{
			Module: data.Module, Inputs: data.Inputs, Started: data.Started, Finished: data.Finished,
			Training: result.Training{Metrics: data.Metrics, Hyperparameters: data.Hyperparameters, Settings: data.Settings},
		}}
	case *events.HParamsReady:
		return record{Result: result.Result{
			Finished: event.Time, Search: result.Search{Values: data.Values, Study: strings.TrimPrefix(data.Execution, "sha256:")},
		}}
	default: // no other event is kept for an execution
		return record{}
	}
}

// event returns the event of an execution. It first reads the runs that probably did the work: a
// log may be long.
func (r *records) event(ctx context.Context, pipeline, execution string) (events.Event, bool, error) {
	for _, run := range r.likely(execution) {
		if run.Run == "" || run.Pipeline != pipeline {
			continue
		}
		evs, err := r.events(ctx, run)
		if err != nil {
			return events.Event{}, false, err
		}
		if event, there := evs.first[execution]; there && !isCached(event) {
			return event, true, nil
		}
	}
	evs, err := r.events(ctx, runs.Key{Pipeline: pipeline})
	if err != nil {
		return events.Event{}, false, err
	}
	event, there := evs.first[execution]
	return event, there, nil
}

// likely returns the run that was requested, and the one of which the caller knows.
func (r *records) likely(execution string) []runs.Key {
	list := []runs.Key{r.near}
	if r.makerOf != nil {
		if maker, known := r.makerOf(execution); known {
			list = append(list, maker)
		}
	}
	return list
}

// events reads the events of a pipeline, or of one run, once.
func (r *records) events(ctx context.Context, of runs.Key) (*pipelineEvents, error) {
	name := of.Pipeline + "/" + of.Run
	if known := r.pipelines[name]; known != nil {
		return known, nil
	}
	t := &pipelineEvents{first: map[string]events.Event{}, data: map[string]events.Inputs{}}
	if events.CheckName("pipeline", of.Pipeline) == nil {
		query := events.Query{Pipeline: of.Pipeline, Run: of.Run, Kinds: append(events.RunKinds(), events.KindModelTrained)}
		for recorded, err := range r.bus.Read(ctx, query) {
			if err != nil {
				return nil, err
			}
			if recorded.Err == nil {
				t.add(recorded.Event)
			}
		}
	}
	r.pipelines[name] = t
	return t, nil
}

func (t *pipelineEvents) add(event events.Event) {
	if output, ok := events.OutputOf(event.Data); ok && output.Execution != "" {
		t.keep(event, output)
	}
	if trained, ok := event.Data.(*events.ModelTrained); ok {
		t.newest = namedBy(event, trained)
	}
	if data, ok := event.Data.(events.RunData); ok {
		in, brought := t.data[event.Run], data.Inputs()
		in.Examples = append(in.Examples, brought.Examples...)
		in.TransformedExamples = append(in.TransformedExamples, brought.TransformedExamples...)
		t.data[event.Run] = in
	}
}

// keep prefers the execution that did the work to a cache hit.
func (t *pipelineEvents) keep(event events.Event, output events.Output) {
	have, there := t.first[output.Execution]
	if !there || isCached(have) && !output.Cached {
		t.first[output.Execution] = event
	}
}

func isCached(event events.Event) bool {
	output, _ := events.OutputOf(event.Data)
	return output.Cached
}

// join adds what the run's join has pinned. A join that is gone, or can't be read, is no error.
func (r *records) join(ctx context.Context, found *record) error {
	index := runs.Open(r.bus, runs.Options{})
	join, err := index.Join(ctx, runs.Key{Pipeline: found.pipeline, Run: found.run})
	if errors.Is(err, events.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	search, stage := join.Stage(events.FunctionTune), join.Stage(events.FunctionTrain)
	if search.Exists() && (stage.Revision == 0 || search.Job == found.Job && found.Job != "") {
		stage = search
	}
	found.revision = stage.Revision
	if stage.Revision == 0 {
		return nil
	}
	p, err := index.ReadPipeline(ctx, found.pipeline, stage.Revision)
	if err != nil {
		return ctx.Err() // an older revision may no longer exist
	}
	if found.configuration, err = p.Spec.Masked(); err != nil {
		return err
	}
	found.module, found.moduleFrom = p.Spec.Module.Path, strings.HasPrefix(p.Spec.Module.Path, "s3://")
	return nil
}
