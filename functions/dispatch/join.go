package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

// JoinKey returns the key of a run's join in its bucket. A pipeline's name contains no slash, so no
// two runs share a key.
func JoinKey(pipeline, run string) string { return pipeline + "/" + run }

// DecodeJoin decodes the entry of a run in events.KVJoins. With an error it returns the join of a
// run of which nothing is known; it has no pipeline if the key does not name a run either.
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

// held is a join and its revision in its bucket, which the next compare-and-swap needs.
type held struct {
	join.Join
	at      uint64    // 0: it does not exist yet
	written time.Time // by the bus's clock, if it was read
	// Why the entry can't be read; Join is then that of a run of which nothing is known.
	damage error
}

// read returns the run's join, a new one if there is none.
func (d *Dispatcher) read(ctx context.Context, pipeline, run string) (held, error) {
	found, err := readJoin(ctx, d.joins, JoinKey(pipeline, run))
	if errors.Is(err, events.ErrNotFound) {
		return held{Join: join.New(pipeline, run)}, nil
	}
	return found, err
}

func readJoin(ctx context.Context, joins events.KV, key string) (held, error) {
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

// swap replaces before by after; events.ErrConflict if the bucket no longer holds before. If a run
// whose training has no job yet names more in its events than the bus can store, swap ends it: the
// join that it returns says so.
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
