package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

// JoinKey is the key of a run's join in its register. A pipeline's name has no slash, so that no two runs share a key.
func JoinKey(pipeline, run string) string { return pipeline + "/" + run }

// ReadJoin is the join of a run as it stands; events.ErrNotFound if no dispatcher has seen a fact of the run, or if what stands there is
// no join of the run's.
func ReadJoin(ctx context.Context, box events.Letterbox, pipeline, run string) (join.Join, error) {
	joins, err := box.Register(ctx, events.RegisterJoins)
	if err != nil {
		return join.Join{}, fmt.Errorf("open joins: %w", err)
	}
	found, err := readJoin(ctx, joins, JoinKey(pipeline, run))
	if found.damage != nil {
		return join.Join{}, fmt.Errorf("%w: %w", events.ErrNotFound, found.damage)
	}
	return found.Join, err
}

// DecodeJoin reads the entry of a run in events.RegisterJoins. With an error comes the join to go on with, that of a run of which
// nothing is known; if the key is that of no run either, it has no pipeline.
func DecodeJoin(entry events.Entry) (j join.Join, err error) {
	pipeline, run, ofRun := strings.Cut(entry.Key, "/")
	if !ofRun {
		return join.Join{}, fmt.Errorf("read join %s, revision %d: the key names no run", entry.Key, entry.Revision)
	}
	if err = json.Unmarshal(entry.Value, &j); err == nil {
		err = j.Check(pipeline, run)
	}
	if err != nil {
		return join.New(pipeline, run), fmt.Errorf("read join %s, revision %d: %w", entry.Key, entry.Revision, err)
	}
	return j, nil
}

// held is a join and the revision at which its register has it: what the next compare-and-swap needs.
type held struct {
	join.Join
	at      uint64    // 0: it is not there yet
	written time.Time // by the bus's clock, where it was read
	damage  error     // why what stands there can't be read; Join is that of a run of which nothing is known
}

// join adds one fact to its run's join by compare-and-swap. It returns the join as it now stands, whoever wrote it.
func (d *Dispatcher) join(ctx context.Context, run string, fact join.Pinned, current deployed) (held, error) {
	for pause := (events.Pause{}); ; {
		before, err := d.whole(ctx, current, run)
		if err != nil || before.State != join.Waiting || before.Has(fact) {
			return before, err
		}
		after, err := d.decide(ctx, before.Add(fact), current)
		if err != nil {
			return held{}, err
		}
		if after.State == join.Waiting && !after.Has(fact) {
			return before, nil // one of its kind was stored before
		}
		written, err := d.swap(ctx, before, after)
		if !errors.Is(err, events.ErrConflict) {
			return written, err
		} // else someone else added a fact
		if err := pause.Wait(ctx); err != nil {
			return held{}, err
		}
	}
}

// decide says what becomes of a run that waits, with the events known by now. Before anything comes of it the log is asked: several
// dispatchers don't handle events in its order, and what a run is must not depend on that. A run whose job has its outcome in the log
// had a join, which the bus has lost: it gets no second job, though its pipeline may be another one by now.
func (d *Dispatcher) decide(ctx context.Context, j join.Join, current deployed) (join.Join, error) {
	known := j.Decide(current.spec, j.Facts)
	if known.State == join.Waiting && !known.Ready(current.spec) && !known.TuningDue() {
		return j, nil
	}
	past, err := d.past(ctx, j.Pipeline, j.Run)
	if err != nil {
		return join.Join{}, err
	}
	if _, had := past.Outcome(); had {
		return d.recall(ctx, past, j.Run, current)
	}
	facts := append(slices.Clip(j.Facts), past.Facts(j.Completed()+1)...)
	return d.complete(ctx, j.Decide(current.spec, facts), current)
}

// complete pins everything that a run's jobs will be made from: its tuning's once that is due, its training's once no fact is missing.
func (d *Dispatcher) complete(ctx context.Context, j join.Join, current deployed) (join.Join, error) {
	j, err := d.pinTuning(ctx, j, current)
	if err != nil {
		return join.Join{}, err
	}
	if !j.Ready(current.spec) {
		return j, nil
	}
	latest, err := d.latest(ctx, j, j.Wants(current.spec))
	if err != nil {
		return join.Join{}, err
	}
	return j.Pin(current.spec, current.revision, latest), nil
}

// read returns the run's join, a new one if there is none.
func (d *Dispatcher) read(ctx context.Context, pipeline, run string) (held, error) {
	found, err := readJoin(ctx, d.joins, JoinKey(pipeline, run))
	if errors.Is(err, events.ErrNotFound) {
		return held{Join: join.New(pipeline, run)}, nil
	}
	return found, err
}

func readJoin(ctx context.Context, joins events.Register, key string) (held, error) {
	entry, err := joins.Get(ctx, key)
	if err != nil {
		return held{}, fmt.Errorf("read join %s: %w", key, err)
	}
	return hold(entry), nil
}

func hold(entry events.Entry) held {
	j, err := DecodeJoin(entry)
	return held{Join: j, at: entry.Revision, written: entry.Written, damage: err}
}

// swap stores after in the place of before; events.ErrConflict if that is no longer what is there. A run that has no job yet, and whose
// facts name more than the bus can hold for it, has ended by that: what comes back says so.
func (d *Dispatcher) swap(ctx context.Context, before held, after join.Join) (held, error) {
	written, err := d.write(ctx, before, after)
	if !errors.Is(err, events.ErrTooLarge) || before.State == join.Dispatched {
		return written, err
	}
	now, clock := d.now(ctx)
	if clock != nil {
		return held{}, clock
	}
	return d.write(ctx, before, after.TooLarge(err.Error(), now))
}

func (d *Dispatcher) write(ctx context.Context, before held, after join.Join) (held, error) {
	key := JoinKey(after.Pipeline, after.Run)
	if after.Began.IsZero() {
		after.Began = time.Now().UTC()
	}
	value, err := json.Marshal(after)
	if err != nil {
		return held{}, fmt.Errorf("write join %s: %w", key, err)
	}
	var revision uint64
	if before.at == 0 {
		revision, err = d.joins.Create(ctx, key, value)
	} else {
		revision, err = d.joins.Update(ctx, key, value, before.at)
	}
	if err != nil {
		return held{}, fmt.Errorf("write join %s: %w", key, err)
	}
	d.rechecked.wrote(key, revision)
	return held{Join: after, at: revision}, nil
}
