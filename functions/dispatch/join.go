package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/plan"
)

// JoinKey is the key of a run's join in its register. A pipeline's name has no slash, so that no two runs share a key.
func JoinKey(pipeline, run string) string { return pipeline + "/" + run }

// join adds one fact to its run's join by compare-and-swap, and completes it when nothing is missing any more. It returns
// the join as it now stands in the register, whoever wrote it.
func (d *Dispatcher) join(ctx context.Context, fact events.Fact, pinned plan.Pinned, current deployed) (plan.Join, error) {
	key := JoinKey(fact.Pipeline, fact.Run)
	for {
		before, at, err := d.read(ctx, key, fact)
		if err != nil || before.State != plan.Waiting {
			return before, err
		}
		after, err := d.complete(ctx, before.Add(pinned), current)
		if err != nil {
			return plan.Join{}, err
		}
		_, err = d.write(ctx, key, after, at)
		if errors.Is(err, events.ErrConflict) {
			continue // someone else added a fact; look again
		}
		return after, err
	}
}

// complete pins everything once no fact is missing.
func (d *Dispatcher) complete(ctx context.Context, join plan.Join, current deployed) (plan.Join, error) {
	if missing := join.Missing(current.spec); len(missing) > 0 {
		d.log.Info("run waits", "pipeline", join.Pipeline, "run", join.Run, "for", missing)
		return join, nil
	}
	latest, err := d.latest(ctx, join, join.Wants(current.spec))
	if err != nil {
		return plan.Join{}, err
	}
	return join.Pin(current.revision, latest), nil
}

// latest looks up the newest facts of the pipeline that were stored before the join completed. The log never changes
// below that sequence, so that a replay finds the same.
func (d *Dispatcher) latest(ctx context.Context, join plan.Join, wants plan.Wants) (plan.Latest, error) {
	var latest plan.Latest
	if wants.Hyperparameters {
		if err := d.newest(ctx, join, events.KindHParamsReady, func(data events.Data) {
			latest.Hyperparameters = data.(*events.HParamsReady).Hyperparameters
		}); err != nil {
			return latest, err
		}
	}
	if wants.BaseModel {
		if err := d.newest(ctx, join, events.KindModelTrained, func(data events.Data) {
			latest.BaseModel = data.(*events.ModelTrained).Model.URI
		}); err != nil {
			return latest, err
		}
	}
	return latest, nil
}

// newest calls use with each fact of the kind, oldest first, so that the last call wins.
func (d *Dispatcher) newest(ctx context.Context, join plan.Join, kind events.Kind, use func(events.Data)) error {
	query := events.Query{Kinds: []events.Kind{kind}, Pipeline: join.Pipeline, Until: join.Completed()}
	for recorded, err := range d.box.Read(ctx, query) {
		if err != nil {
			return fmt.Errorf("look up the latest %s of %s: %w", kind, join.Pipeline, err)
		}
		if recorded.Err == nil {
			use(recorded.Fact.Data)
		}
	}
	return nil
}

// read returns the run's join and its revision in the register, 0 for a new one.
func (d *Dispatcher) read(ctx context.Context, key string, fact events.Fact) (plan.Join, uint64, error) {
	entry, err := d.joins.Get(ctx, key)
	if errors.Is(err, events.ErrNotFound) {
		return plan.Join{Pipeline: fact.Pipeline, Run: fact.Run, State: plan.Waiting}, 0, nil
	}
	if err != nil {
		return plan.Join{}, 0, fmt.Errorf("read join %s: %w", key, err)
	}
	var join plan.Join
	if err := json.Unmarshal(entry.Value, &join); err != nil {
		return plan.Join{}, 0, fmt.Errorf("read join %s, revision %d: %w", key, entry.Revision, err)
	}
	return join, entry.Revision, nil
}

// write stores the join if the register still is at revision at.
func (d *Dispatcher) write(ctx context.Context, key string, join plan.Join, at uint64) (uint64, error) {
	value, err := json.Marshal(join)
	if err != nil {
		return 0, fmt.Errorf("write join %s: %w", key, err)
	}
	var revision uint64
	if at == 0 {
		revision, err = d.joins.Create(ctx, key, value)
	} else {
		revision, err = d.joins.Update(ctx, key, value, at)
	}
	if err != nil {
		return 0, fmt.Errorf("write join %s: %w", key, err)
	}
	return revision, nil
}
