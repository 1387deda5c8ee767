package bustest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// kv is a KV bucket in memory. The mutex of its Memory guards it.
type kv struct {
	name    string
	bus     *Memory
	last    uint64 // revision, over all keys
	newest  map[string]events.Entry
	history []events.Entry       // every value ever written, and every deletion
	written map[string]time.Time // when the newest value of a key was written
}

// KV implements events.Bus.
func (m *Memory) KV(ctx context.Context, name string) (events.KV, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return nil, fmt.Errorf("open KV bucket %s: %w", name, err)
	}
	if r := m.kvs[name]; r != nil {
		return guarded{r}, nil
	}
	return nil, fmt.Errorf("open KV bucket %s: %w", name, events.ErrNotFound)
}

// get returns the newest entry. The caller holds bus.mu, as for all methods of kv.
func (r *kv) get(key string) (events.Entry, bool) {
	entry, ok := r.newest[key]
	return entry, ok
}

// put replaces the value at revision, 0 for none.
func (r *kv) put(key string, value []byte, revision uint64) (uint64, error) {
	if entry := r.newest[key]; entry.Revision != revision {
		return 0, fmt.Errorf("write %s/%s at revision %d: %w: it is at %d", r.name, key, revision, events.ErrConflict, entry.Revision)
	}
	if err := checkSize(value); err != nil {
		return 0, fmt.Errorf("write %s/%s: %w", r.name, key, err)
	}
	r.last++
	now := time.Now()
	entry := events.Entry{Key: key, Value: bytes.Clone(value), Revision: r.last, Written: now}
	r.newest[key] = entry
	r.history = append(r.history, entry)
	r.since(key, now)
	r.bus.wake() // watchers; leases are written by other methods too
	return entry.Revision, nil
}

func (r *kv) remove(key string, revision uint64) error {
	if entry, ok := r.newest[key]; !ok || entry.Revision != revision {
		return fmt.Errorf("delete %s/%s at revision %d: %w", r.name, key, revision, events.ErrConflict)
	}
	r.last++
	delete(r.newest, key)
	delete(r.written, key)
	r.history = append(r.history, events.Entry{Key: key, Revision: r.last, Written: time.Now(), Deleted: true})
	r.bus.wake()
	return nil
}

func (r *kv) since(key string, now time.Time) {
	if r.written == nil {
		r.written = map[string]time.Time{}
	}
	r.written[key] = now
}

// guarded is a KV bucket for external callers: it locks the mutex.
type guarded struct{ r *kv }

var _ events.KV = guarded{}

func (g guarded) lock(ctx context.Context) (unlock func(), err error) {
	g.r.bus.mu.Lock()
	if err := g.r.bus.usable(ctx); err != nil {
		g.r.bus.mu.Unlock()
		return nil, err
	}
	return func() { g.r.bus.wake(); g.r.bus.mu.Unlock() }, nil
}

// Get implements events.KV.
func (g guarded) Get(ctx context.Context, key string) (events.Entry, error) {
	unlock, err := g.lock(ctx)
	if err != nil {
		return events.Entry{}, err
	}
	defer unlock()
	entry, ok := g.r.get(key)
	if !ok {
		return events.Entry{}, fmt.Errorf("read %s/%s: %w", g.r.name, key, events.ErrNotFound)
	}
	return entry, nil
}

// Create implements events.KV.
func (g guarded) Create(ctx context.Context, key string, value []byte) (uint64, error) {
	return g.Update(ctx, key, value, 0)
}

// Update implements events.KV.
func (g guarded) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	unlock, err := g.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	return g.r.put(key, value, revision)
}

// Revision implements events.KV.
func (g guarded) Revision(ctx context.Context, key string, revision uint64) (events.Entry, error) {
	unlock, err := g.lock(ctx)
	if err != nil {
		return events.Entry{}, err
	}
	defer unlock()
	for _, entry := range g.r.history {
		if entry.Key == key && entry.Revision == revision && !entry.Deleted {
			return entry, nil
		}
	}
	return events.Entry{}, fmt.Errorf("read %s/%s, revision %d: %w", g.r.name, key, revision, events.ErrNotFound)
}

// Delete implements events.KV.
func (g guarded) Delete(ctx context.Context, key string, revision uint64) error {
	unlock, err := g.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return g.r.remove(key, revision)
}

// Sync implements events.KV. All reads of the memory are linearizable.
func (g guarded) Sync(ctx context.Context) error {
	unlock, err := g.lock(ctx)
	if err != nil {
		return err
	}
	unlock()
	return nil
}

// History implements events.KV.
func (g guarded) History(ctx context.Context, key string) iter.Seq2[events.Copy, error] {
	return func(yield func(events.Copy, error) bool) {
		unlock, err := g.lock(ctx)
		if err != nil {
			yield(events.Copy{}, err)
			return
		}
		all := slices.DeleteFunc(slices.Clone(g.r.history), func(e events.Entry) bool { return e.Key != key })
		unlock()
		if g.r.name != events.KVPipelines { // the others keep only the newest value
			all = all[max(0, len(all)-1):]
		}
		for _, entry := range all {
			if !yield(events.Copy(entry), nil) {
				return
			}
		}
	}
}

// All implements events.KV.
func (g guarded) All(ctx context.Context) iter.Seq2[events.Copy, error] {
	return func(yield func(events.Copy, error) bool) {
		entries, _, err := g.list(ctx)
		if err != nil {
			yield(events.Copy{}, err)
			return
		}
		for _, entry := range entries {
			if !yield(events.Copy(entry), nil) {
				return
			}
		}
	}
}

// list returns the newest value of every key, and the length of the history that it reflects.
func (g guarded) list(ctx context.Context) (entries []events.Entry, history int, err error) {
	unlock, err := g.lock(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer unlock()
	entries = slices.SortedFunc(maps.Values(g.r.newest), func(a, b events.Entry) int { return int(a.Revision) - int(b.Revision) })
	return entries, len(g.r.history), nil
}

// Watch implements events.KV.
func (g guarded) Watch(ctx context.Context) iter.Seq2[events.Copy, error] {
	return func(yield func(events.Copy, error) bool) {
		entries, seen, err := g.list(ctx)
		for entries = append(entries, events.Entry{}); err == nil; {
			for _, entry := range entries {
				if !yield(events.Copy(entry), nil) {
					return
				}
			}
			err = g.r.bus.await(ctx, watchWait, func(time.Time) (bool, time.Time) {
				entries = slices.Clone(g.r.history[seen:])
				seen = len(g.r.history)
				return len(entries) > 0, time.Time{}
			})
			if errors.Is(err, events.ErrEmpty) {
				entries, err = nil, nil
			}
		}
		if ctx.Err() == nil {
			yield(events.Copy{}, fmt.Errorf("watch %s: %w", g.r.name, err))
		}
	}
}

// watchWait is how long a watch of a KV bucket waits before it waits again.
const watchWait = time.Hour
