package bustest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// known is the newest state of a key that a client has read or written: an entry, or its absence as
// of a revision.
type known struct {
	entry events.Entry // with Revision only if the key is absent
	there bool
}

// behind is the value that Get returns for a while after a write failed.
type behind struct {
	known
	reads int
}

// KV implements events.Bus.
func (c *staleClient) KV(ctx context.Context, name string) (events.KV, error) {
	if _, err := c.Memory.KV(ctx, name); err != nil {
		return nil, err
	}
	return staleKV{guarded{c.kvs[name]}, c}, nil
}

type staleKV struct {
	guarded
	c *staleClient
}

func (s staleKV) id(key string) string { return s.r.name + "/" + key }

// knows records what the client has read or written.
func (s staleKV) knows(key string, k known) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if id := s.id(key); k.entry.Revision >= s.c.known[id].entry.Revision {
		s.c.known[id] = k
	}
}

// absent returns the state of a key that does not exist now.
func (s staleKV) absent() known {
	s.r.bus.mu.Lock()
	defer s.r.bus.mu.Unlock()
	return known{entry: events.Entry{Revision: s.r.last}}
}

// refused makes Get return for a few calls what the client knew when its write at a revision
// failed: the entry of that revision, or what it has read or written since.
func (s staleKV) refused(key string, revision uint64) {
	at, found := s.version(key, revision)
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	id := s.id(key)
	if k := s.c.known[id]; !found || k.entry.Revision > at.Revision {
		s.c.behind[id] = behind{k, s.c.random.IntN(4)}
		return
	}
	s.c.behind[id] = behind{known{at, true}, s.c.random.IntN(4)}
}

func (s staleKV) version(key string, revision uint64) (events.Entry, bool) {
	s.r.bus.mu.Lock()
	defer s.r.bus.mu.Unlock()
	at := slices.IndexFunc(s.r.history, func(e events.Entry) bool { return e.Key == key && e.Revision == revision && !e.Deleted })
	if at < 0 {
		return events.Entry{}, false
	}
	return s.r.history[at], true
}

// wrote clears an earlier conflict.
func (s staleKV) wrote(key string, k known) {
	s.knows(key, k)
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	delete(s.c.behind, s.id(key))
}

// Get implements events.KV.
func (s staleKV) Get(ctx context.Context, key string) (events.Entry, error) {
	entry, err := s.guarded.Get(ctx, key)
	if err != nil && !errors.Is(err, events.ErrNotFound) {
		return entry, err
	}
	if before, is := s.before(key); is {
		return s.entry(key, before)
	}
	if s.c.staleness&OldGets != 0 {
		for _, old := range s.copied() {
			if old.Key == key && !old.Deleted {
				return old, nil
			}
		}
		return s.entry(key, known{})
	}
	if err != nil {
		s.knows(key, s.absent())
		return entry, err
	}
	s.knows(key, known{entry, true})
	return entry, nil
}

func (s staleKV) entry(key string, k known) (events.Entry, error) {
	if !k.there {
		return events.Entry{}, fmt.Errorf("read %s: %w", s.id(key), events.ErrNotFound)
	}
	return k.entry, nil
}

// before returns what the client knew before a write failed, if Get still returns that.
func (s staleKV) before(key string) (known, bool) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	b := s.c.behind[s.id(key)]
	if b.reads == 0 {
		return known{}, false
	}
	b.reads--
	s.c.behind[s.id(key)] = b
	return b.known, true
}

// Revision implements events.KV.
func (s staleKV) Revision(ctx context.Context, key string, revision uint64) (events.Entry, error) {
	if s.c.staleness&OldRevisions != 0 && s.c.number(2) == 0 {
		return s.entry(key, known{})
	}
	return s.guarded.Revision(ctx, key, revision)
}

// Create implements events.KV.
func (s staleKV) Create(ctx context.Context, key string, value []byte) (uint64, error) {
	return s.Update(ctx, key, value, 0)
}

// Update implements events.KV.
func (s staleKV) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	next, err := s.guarded.Update(ctx, key, value, revision)
	switch {
	case errors.Is(err, events.ErrConflict):
		s.refused(key, revision)
	case err == nil:
		entry, _ := s.version(key, next)
		s.wrote(key, known{entry, true})
	}
	return next, err
}

// Delete implements events.KV.
func (s staleKV) Delete(ctx context.Context, key string, revision uint64) error {
	err := s.guarded.Delete(ctx, key, revision)
	switch {
	case errors.Is(err, events.ErrConflict):
		s.refused(key, revision)
	case err == nil:
		s.wrote(key, s.absent())
	}
	return err
}

// Sync implements events.KV. A client whose Gets are old has old ones after it, too.
func (s staleKV) Sync(ctx context.Context) error {
	if err := s.guarded.Sync(ctx); err != nil {
		return err
	}
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	clear(s.c.behind)
	return nil
}

// copied returns the newest change of each key, by revision, from one copy or, one time in four,
// from several.
func (s staleKV) copied() []events.Entry {
	s.r.bus.mu.Lock()
	defer s.r.bus.mu.Unlock()
	cut := s.c.cut(len(s.r.history))
	mixed := s.c.number(4) == 0
	cuts, newest := map[string]int{}, map[string]events.Entry{}
	for i, entry := range s.r.history {
		at, seen := cuts[entry.Key]
		if !seen {
			if at = cut; mixed {
				at = s.c.cut(len(s.r.history))
			}
			cuts[entry.Key] = at
		}
		if i < at {
			newest[entry.Key] = entry
		}
	}
	return byRevision(maps.Values(newest))
}

func byRevision(entries iter.Seq[events.Entry]) []events.Entry {
	return slices.SortedFunc(entries, func(a, b events.Entry) int { return cmp.Compare(a.Revision, b.Revision) })
}

// usable returns an error if the bus is closed or ctx has ended.
func (s staleKV) usable(ctx context.Context) error {
	unlock, err := s.lock(ctx)
	if err == nil {
		unlock()
	}
	return err
}

// All implements events.KV.
func (s staleKV) All(ctx context.Context) iter.Seq2[events.Copy, error] {
	return func(yield func(events.Copy, error) bool) {
		if err := s.usable(ctx); err != nil {
			yield(events.Copy{}, err)
			return
		}
		for _, entry := range s.copied() {
			if !entry.Deleted && !yield(events.Copy(entry), nil) {
				return
			}
		}
	}
}

// Watch implements events.KV. It begins with an old copy, including the marks of deletions, and
// gets later changes late. It omits some changes that are followed by others of the same key.
func (s staleKV) Watch(ctx context.Context) iter.Seq2[events.Copy, error] {
	return func(yield func(events.Copy, error) bool) {
		err := s.usable(ctx)
		seen, entries := s.first()
		for entries = append(entries, events.Entry{}); err == nil; {
			for _, entry := range entries {
				if !yield(events.Copy(entry), nil) {
					return
				}
			}
			entries = nil
			err = s.r.bus.await(ctx, watchWait, func(time.Time) (bool, time.Time) { return len(s.r.history) > seen, time.Time{} })
			if errors.Is(err, events.ErrEmpty) {
				err = nil
				continue
			}
			if sleep(ctx, s.c.lag()) != nil {
				return
			}
			seen, entries = s.behind(seen)
		}
		if ctx.Err() == nil {
			yield(events.Copy{}, fmt.Errorf("watch %s: %w", s.r.name, err))
		}
	}
}

// first returns how many changes the copy at the beginning of a watch holds, and the newest of each
// key.
func (s staleKV) first() (seen int, entries []events.Entry) {
	s.r.bus.mu.Lock()
	defer s.r.bus.mu.Unlock()
	seen = s.c.cut(len(s.r.history))
	newest := map[string]events.Entry{}
	for _, entry := range s.r.history[:seen] {
		newest[entry.Key] = entry
	}
	return seen, byRevision(maps.Values(newest))
}

// behind returns some of the changes after the first seen ones, and the total number of changes.
func (s staleKV) behind(seen int) (now int, entries []events.Entry) {
	s.r.bus.mu.Lock()
	defer s.r.bus.mu.Unlock()
	now = seen + s.c.number(len(s.r.history)-seen+1)
	changes := s.r.history[seen:now]
	for i, entry := range changes {
		again := slices.ContainsFunc(changes[i+1:], func(later events.Entry) bool { return later.Key == entry.Key })
		if !again || s.c.number(2) == 0 {
			entries = append(entries, entry)
		}
	}
	return now, entries
}
