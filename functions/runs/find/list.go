package find

import (
	"context"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/runs"
)

// LastOutcomes returns the outcomes of the runs that have one: of each run the last, and one of the
// whole run before one of a single event.
func LastOutcomes(ctx context.Context, bus events.Bus, query events.Query) (map[Key]runs.LastOutcome, error) {
	words := map[Key]runs.LastOutcome{}
	query.Kinds = events.OutcomeKinds()
	for recorded, err := range bus.Read(ctx, query) {
		if err != nil {
			return nil, err
		}
		if recorded.Err != nil {
			continue
		}
		key := Key{recorded.Event.Pipeline, recorded.Event.Run}
		words[key] = words[key].Then(runs.OutcomeOf(recorded))
	}
	return words, nil
}

// List joins the log of events and the bucket of joins, newest first. A join that can't be
// explained is listed as unclear, and hides no other.
func List(ctx context.Context, bus events.Bus, pipeline string) ([]runs.State, error) {
	finished, err := LastOutcomes(ctx, bus, events.Query{Pipeline: pipeline})
	if err != nil {
		return nil, err
	}
	known, err := openBuckets(ctx, bus)
	if err != nil {
		return nil, err
	}
	if err := known.readLeases(ctx); err != nil {
		return nil, err
	}
	list := []runs.State{}
	for entry, err := range known.joins.All(ctx) {
		if err != nil {
			return nil, err
		}
		name, run, _ := strings.Cut(entry.Key, "/")
		if pipeline == "" || name == pipeline {
			list = append(list, known.explain(ctx, events.Entry(entry), finished[Key{name, run}]))
			delete(finished, Key{name, run})
		}
	}
	for _, of := range finished {
		list = append(list, of.State)
	}
	slices.SortFunc(list, func(a, b runs.State) int { return b.Updated.Compare(a.Updated) })
	return list, nil
}

// explain is the state of a run by its join and its last outcome in the log.
func (r buckets) explain(ctx context.Context, entry events.Entry, last runs.LastOutcome) runs.State {
	join, err := dispatch.DecodeJoin(entry)
	if err != nil {
		name, run, _ := strings.Cut(entry.Key, "/")
		return runs.State{Pipeline: name, Run: run, State: runs.Unclear, Error: err.Error(), Updated: entry.Written}
	}
	state, err := runs.Of(join, last, asked{ctx, r})
	if err != nil {
		state.State, state.Error = runs.Unclear, err.Error()
	}
	return state
}
