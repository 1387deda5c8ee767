package eventstest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"

	"github.com/stoker-ml/stoker/events"
)

// Stale is a bus of several servers whose copies lag, on top of one that doesn't: every read may
// return what was there before, as far as the contract of the read and the caller's own writes
// allow. Programs share one Stale and have a Client each.
//
// Without OnlyByContract every read is one of any copy, as a program sees it that reads by direct
// gets and by consumers of replicas: tests that pass then don't look for what such reads break.
type Stale struct {
	box events.Letterbox

	mu      sync.Mutex
	history map[string][]events.Entry // by register and key, oldest first; of each deletion an Entry that says so
	last    uint64                    // sequence in the log, of those published through a client
}

// Staleness says which reads of a client may be old.
type Staleness int

// The kinds of clients.
const (
	OnlyByContract Staleness = iota // All, and Get for a moment after ErrConflict
	AnyCopy                         // every read that does not follow
)

// NewStale returns a Stale on top of a bus whose reads are all linearizable. Writes that matter have
// to go through its clients.
func NewStale(box events.Letterbox) *Stale {
	return &Stale{box: box, history: map[string][]events.Entry{}}
}

// Client is the bus as one program sees it. random decides how old its reads are.
func (s *Stale) Client(random *rand.Rand, staleness Staleness) events.Letterbox {
	return &staleClient{Letterbox: s.box, stale: s, random: random, staleness: staleness, floor: map[string]int{}, behind: map[string]behind{}}
}

type staleClient struct {
	events.Letterbox
	stale     *Stale
	staleness Staleness

	mu     sync.Mutex
	random *rand.Rand
	floor  map[string]int    // by register and key: how much of the history the client knows by its own writes
	behind map[string]behind // by register and key: after a lost write
}

// behind is what Get returns for a while after a write was refused.
type behind struct {
	reads int
	at    int // length of the history then known
}

func (c *staleClient) number(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.random.IntN(n)
}

// Publish implements events.Log.
func (c *staleClient) Publish(ctx context.Context, f events.Fact) (events.Receipt, error) {
	receipt, err := c.Letterbox.Publish(ctx, f)
	if err == nil {
		c.stale.mu.Lock()
		c.stale.last = max(c.stale.last, receipt.Sequence)
		c.stale.mu.Unlock()
	}
	return receipt, err
}

// Read implements events.Log.
func (c *staleClient) Read(ctx context.Context, q events.Query) iter.Seq2[events.Recorded, error] {
	if c.staleness == AnyCopy && !q.Follow && c.number(2) == 0 {
		c.stale.mu.Lock()
		last := c.stale.last
		c.stale.mu.Unlock()
		if missing := uint64(c.number(6)); last > missing {
			if until := last + 1 - missing; q.Until == 0 || q.Until > until {
				q.Until = until
			}
		}
	}
	return c.Letterbox.Read(ctx, q)
}

// Register implements events.Letterbox.
func (c *staleClient) Register(ctx context.Context, name string) (events.Register, error) {
	register, err := c.Letterbox.Register(ctx, name)
	return staleRegister{register, c, name + "/"}, err
}

type staleRegister struct {
	events.Register
	c    *staleClient
	name string
}

// wrote adds a write of this client's to the history.
func (r staleRegister) wrote(entry events.Entry) {
	s, id := r.c.stale, r.name+entry.Key
	s.mu.Lock()
	known := s.history[id]
	if entry.Deleted || len(known) == 0 || known[len(known)-1].Revision < entry.Revision { // else a later write was noted first
		known = append(known, entry)
	}
	s.history[id] = known
	length := len(known)
	s.mu.Unlock()
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	r.c.floor[id] = length
	delete(r.c.behind, id)
}

// lost has Get return for a while what the client knew when its write was refused.
func (r staleRegister) lost(key string, revision uint64) {
	s, id := r.c.stale, r.name+key
	s.mu.Lock()
	at := 0
	for i, entry := range s.history[id] {
		if revision != 0 && entry.Revision == revision {
			at = i + 1
		}
	}
	s.mu.Unlock()
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	if at >= r.c.floor[id] {
		r.c.behind[id] = behind{reads: r.c.random.IntN(4), at: at}
	}
}

// at is the entry of a key after the first n writes; false for none, or one that was deleted.
func (s *Stale) at(id string, n int) (events.Entry, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n == 0 || n > len(s.history[id]) {
		return events.Entry{}, false
	}
	entry := s.history[id][n-1]
	return entry, !entry.Deleted
}

// version is after how many writes of a key this read is; fresh if it is not old.
func (r staleRegister) version(key string) (n int, fresh bool) {
	id := r.name + key
	r.c.stale.mu.Lock()
	length := len(r.c.stale.history[id])
	r.c.stale.mu.Unlock()
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	if b, is := r.c.behind[id]; is && b.reads > 0 {
		b.reads--
		r.c.behind[id] = b
		return b.at, false
	}
	if floor := r.c.floor[id]; r.c.staleness == AnyCopy && length > floor {
		return floor + r.c.random.IntN(length-floor+1), false
	}
	return length, true
}

// Get implements events.Register.
func (r staleRegister) Get(ctx context.Context, key string) (events.Entry, error) {
	n, fresh := r.version(key)
	if fresh {
		return r.Register.Get(ctx, key)
	}
	entry, there := r.c.stale.at(r.name+key, n)
	if !there {
		return events.Entry{}, fmt.Errorf("read %s%s: %w", r.name, key, events.ErrNotFound)
	}
	return entry, nil
}

// Revision implements events.Register.
func (r staleRegister) Revision(ctx context.Context, key string, revision uint64) (events.Entry, error) {
	if r.c.staleness == AnyCopy && r.c.number(3) == 0 {
		return events.Entry{}, fmt.Errorf("read %s%s, revision %d: %w", r.name, key, revision, events.ErrNotFound)
	}
	return r.Register.Revision(ctx, key, revision)
}

// Create implements events.Register.
func (r staleRegister) Create(ctx context.Context, key string, value []byte) (uint64, error) {
	revision, err := r.Register.Create(ctx, key, value)
	return revision, r.after(ctx, key, 0, err)
}

// Update implements events.Register.
func (r staleRegister) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	next, err := r.Register.Update(ctx, key, value, revision)
	return next, r.after(ctx, key, revision, err)
}

func (r staleRegister) after(ctx context.Context, key string, revision uint64, err error) error {
	if errors.Is(err, events.ErrConflict) {
		r.lost(key, revision)
	}
	if err != nil {
		return err
	}
	entry, err := r.Register.Get(ctx, key)
	if err == nil {
		r.wrote(entry)
	}
	return nil
}

// Delete implements events.Register.
func (r staleRegister) Delete(ctx context.Context, key string, revision uint64) error {
	err := r.Register.Delete(ctx, key, revision)
	if errors.Is(err, events.ErrConflict) {
		r.lost(key, revision)
	}
	if err == nil {
		r.wrote(events.Entry{Key: key, Deleted: true})
	}
	return err
}

// Sync implements events.Register: reads are fresh from here on, as far as the client's are.
func (r staleRegister) Sync(ctx context.Context) error {
	if err := r.Register.Sync(ctx); err != nil {
		return err
	}
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	clear(r.c.behind)
	return nil
}

// All implements events.Register.
func (r staleRegister) All(ctx context.Context) iter.Seq2[events.Copy, error] {
	return func(yield func(events.Copy, error) bool) {
		for entry, err := range r.Register.All(ctx) {
			if err != nil {
				yield(entry, err)
				return
			}
			if old, there := r.older(events.Entry(entry)); there && !yield(events.Copy(old), nil) {
				return
			}
		}
	}
}

// older is an entry as a copy may have it.
func (r staleRegister) older(entry events.Entry) (events.Entry, bool) {
	id := r.name + entry.Key
	r.c.stale.mu.Lock()
	length := len(r.c.stale.history[id])
	r.c.stale.mu.Unlock()
	r.c.mu.Lock()
	floor := r.c.floor[id]
	n := length
	if length > floor && r.c.random.IntN(3) == 0 {
		n = floor + r.c.random.IntN(length-floor+1)
	}
	r.c.mu.Unlock()
	if n == length {
		return entry, true
	}
	return r.c.stale.at(id, n)
}
