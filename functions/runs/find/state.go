package find

import (
	"context"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/runs"
)

// Now is the state of one run by its join and its last outcome in the log; ErrNotFound if no
// dispatcher has handled an event of it.
func Now(ctx context.Context, bus events.Bus, key Key, last runs.LastOutcome) (runs.State, error) {
	known, err := openBuckets(ctx, bus)
	if err != nil {
		return runs.State{}, err
	}
	entry, err := known.joins.Get(ctx, dispatch.JoinKey(key.Pipeline, key.Run))
	if err != nil {
		return runs.State{}, err
	}
	return known.explain(ctx, entry, last), nil
}

// End waits for the first event behind a sequence that ends a run.
func End(ctx context.Context, bus events.Bus, key Key, behind uint64) (runs.State, error) {
	query := events.Query{Kinds: events.OutcomeKinds(), Pipeline: key.Pipeline, Run: key.Run, From: behind + 1, Follow: true}
	for recorded, err := range bus.Read(ctx, query) {
		if err != nil {
			return runs.State{}, err
		}
		if recorded.Err == nil && events.EndsRun(recorded.Event) {
			return runs.Outcome(recorded), nil
		}
	}
	return runs.State{}, context.Cause(ctx)
}
