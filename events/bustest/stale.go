package bustest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// Stale simulates a bus of several servers whose copies lag, on top of one that does not lag. A
// read may return any older state that the contract of package events allows:
//
//   - A read of any copy (All, Watch of a KV bucket, Studies, DeadLetters) returns the state before
//     some of the writes, the client's own included. All may mix the states of several moments.
//   - A read that follows, and a read of the next message (Read and ReadStudy with follow, Follow,
//     FollowBuckets, Listen, ListenDead, Claim), gets new messages up to a second late.
//   - Read and ReadStudy without follow may omit messages that were not yet acknowledged at the
//     call. Publish and AppendStudy take up to 50 ms to acknowledge what they stored.
//   - After ErrConflict, Get returns for a few calls the value that the client had before.
//   - Report loses some of the progress, and ReportWorker some heartbeats.
//
// All other reads are linearizable: Get, Revision, Queued, Read and ReadStudy without follow.
//
// Programs share one Stale and have a Client each. The delays are by the clock of testing/synctest.
type Stale struct {
	bus *Memory

	mu             sync.Mutex
	unacknowledged map[string]map[uint64]bool // by stream: sequences whose publishers wait
}

// Staleness selects reads of a client that break their contract: they return an older state, like
// direct gets and consumers of replicas. A test that passes with one of them does not check what
// depends on that read.
type Staleness uint

// OnlyByContract is a client whose reads all keep their contracts.
const OnlyByContract Staleness = 0

// The reads that break their contract. AnyCopy is all of them.
const (
	OldGets      Staleness = 1 << iota // Get
	OldRevisions                       // Revision
	OldReads                           // Read without Follow
	OldStudies                         // ReadStudy without follow
	OldQueue                           // Queued

	AnyCopy = OldGets | OldRevisions | OldReads | OldStudies | OldQueue
)

// NewStale returns a Stale on top of bus. A write that bypasses the clients is acknowledged at
// once.
func NewStale(bus *Memory) *Stale {
	return &Stale{bus: bus, unacknowledged: map[string]map[uint64]bool{}}
}

// Client returns the bus as one program sees it. random determines how old its reads are; the
// client synchronizes its use. Closing a client closes the bus.
func (s *Stale) Client(random *rand.Rand, staleness Staleness) Bus {
	return &staleClient{Memory: s.bus, stale: s, random: random, staleness: staleness, known: map[string]known{}, behind: map[string]behind{}}
}

type staleClient struct {
	*Memory
	stale     *Stale
	staleness Staleness

	mu     sync.Mutex // locked after Memory's, if both are
	random *rand.Rand
	known  map[string]known  // by KV bucket and key
	behind map[string]behind // by KV bucket and key: after a refused write
}

// number returns a random number below n, which is positive.
func (c *staleClient) number(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.random.IntN(n)
}

// Bounds of what a copy lacks.
const (
	mostLag        = time.Second
	mostAnswerTime = 50 * time.Millisecond
	fewMissing     = 3 // changes missing in a copy that is only a little behind
)

// cut returns how many of n changes the copy that answers a read holds: all, all but the newest
// few, or any number.
func (c *staleClient) cut(n int) int {
	switch c.number(4) {
	case 0:
		return n - c.number(min(n, fewMissing)+1)
	case 1:
		return c.number(n + 1)
	}
	return n
}

// lag returns how late a change reaches the copy that a consumer reads.
func (c *staleClient) lag() time.Duration {
	if c.number(2) == 0 {
		return 0
	}
	return time.Duration(1 + c.number(int(mostLag)))
}

// sleep waits for d, and returns the cause of ctx if that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// late yields the items of follow, each up to mostLag after it was stored.
func late[T any](ctx context.Context, c *staleClient, follow iter.Seq2[T, error], stored func(T) time.Time) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for item, err := range follow {
			if err == nil && sleep(ctx, time.Until(stored(item).Add(c.lag()))) != nil {
				return
			}
			if !yield(item, err) {
				return
			}
		}
	}
}

// acknowledges returns when the publisher of a message gets its acknowledgement. Complete reads may
// omit the message until then. If ctx ends first, the error says nothing about the message.
func (c *staleClient) acknowledges(ctx context.Context, of string, sequence uint64) error {
	if c.number(4) != 0 {
		return nil
	}
	c.stale.mu.Lock()
	if c.stale.unacknowledged[of] == nil {
		c.stale.unacknowledged[of] = map[uint64]bool{}
	}
	c.stale.unacknowledged[of][sequence] = true
	c.stale.mu.Unlock()
	defer c.stale.acknowledged(of, sequence)
	return sleep(ctx, time.Duration(1+c.number(int(mostAnswerTime))))
}

func (s *Stale) acknowledged(of string, sequence uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.unacknowledged[of], sequence)
}

// complete returns the sequence up to which a read yields a stream from which nothing is removed.
// It is not below the newest acknowledged message, unless the client's reads are old.
func (c *staleClient) complete(of *stream, old Staleness) uint64 {
	c.Memory.mu.Lock()
	last := of.last
	c.Memory.mu.Unlock()
	if c.staleness&old != 0 {
		return uint64(c.cut(int(last)))
	}
	if c.number(2) == 0 {
		return math.MaxUint64 // including what is stored during the read
	}
	c.stale.mu.Lock()
	defer c.stale.mu.Unlock()
	for c.stale.unacknowledged[of.name][last] {
		last--
	}
	return last
}

// Publish implements events.EventLog.
func (c *staleClient) Publish(ctx context.Context, f events.Event) (events.Receipt, error) {
	receipt, err := c.Memory.Publish(ctx, f)
	switch {
	case err != nil:
		return receipt, err
	case receipt.Duplicate:
		c.stale.acknowledged(events.StreamEvents, receipt.Sequence)
		return receipt, nil
	}
	if err := c.acknowledges(ctx, events.StreamEvents, receipt.Sequence); err != nil {
		return events.Receipt{}, fmt.Errorf("publish: %w", err)
	}
	return receipt, nil
}

// Read implements events.EventLog.
func (c *staleClient) Read(ctx context.Context, q events.Query) iter.Seq2[events.Recorded, error] {
	if q.Follow {
		return late(ctx, c, c.Memory.Read(ctx, q), func(r events.Recorded) time.Time { return r.Message.Stored })
	}
	last := c.complete(&c.events, OldReads)
	if last < math.MaxUint64 && (q.Until == 0 || q.Until > last+1) {
		q.Until = last + 1
	}
	return c.Memory.Read(ctx, q)
}

// AppendStudy implements events.StudyLog.
func (c *staleClient) AppendStudy(ctx context.Context, study events.Study, body []byte, after uint64) (uint64, error) {
	sequence, err := c.Memory.AppendStudy(ctx, study, body, after)
	if err != nil {
		return 0, err
	}
	if err := c.acknowledges(ctx, events.StreamStudies, sequence); err != nil {
		return 0, fmt.Errorf("append to %s: %w", events.StudySubject(study), err)
	}
	return sequence, nil
}

// ReadStudy implements events.StudyLog.
func (c *staleClient) ReadStudy(ctx context.Context, study events.Study, after uint64, follow bool) iter.Seq2[events.StudyEntry, error] {
	entries := c.Memory.ReadStudy(ctx, study, after, follow)
	if follow {
		return late(ctx, c, entries, func(e events.StudyEntry) time.Time { return e.Stored })
	}
	last := c.complete(&c.studies, OldStudies)
	return func(yield func(events.StudyEntry, error) bool) {
		for entry, err := range entries {
			if err == nil && entry.Sequence > last || !yield(entry, err) {
				return
			}
		}
	}
}

// older returns the messages that a copy of a stream holds. It requires Memory's mu.
func (c *staleClient) older(s *stream) []events.Message { return s.after(c.cut(len(s.history))) }

// Studies implements events.StudyLog.
func (c *staleClient) Studies(ctx context.Context, pipeline string) iter.Seq2[events.StudyEntry, error] {
	return c.listStudies(ctx, pipeline, c.older)
}

// DeadLetters implements events.Bus.
func (c *staleClient) DeadLetters(ctx context.Context) iter.Seq2[events.DeadLetter, error] {
	return c.deadLetters(ctx, c.older)
}

// Queued implements events.JobQueue.
func (c *staleClient) Queued(ctx context.Context, job string) (events.Message, error) {
	message, err := c.Memory.Queued(ctx, job)
	if err != nil && !errors.Is(err, events.ErrNotFound) || c.staleness&OldQueue == 0 {
		return message, err
	}
	c.Memory.mu.Lock()
	defer c.Memory.mu.Unlock()
	if message, ok := newestOf(c.older(&c.jobs), job); ok {
		return message, nil
	}
	return events.Message{}, fmt.Errorf("look for job %s: %w", job, events.ErrNotFound)
}

// Report implements events.Bus.
func (c *staleClient) Report(ctx context.Context, p events.Progress) error {
	if c.number(4) != 0 {
		return c.Memory.Report(ctx, p)
	}
	c.Memory.mu.Lock()
	defer c.Memory.mu.Unlock()
	return c.usable(ctx)
}

// ReportWorker implements events.WorkerFeed.
func (c *staleClient) ReportWorker(ctx context.Context, w events.WorkerStatus) error {
	if _, err := events.EncodeWorker(w); err != nil || c.number(4) != 0 {
		return c.Memory.ReportWorker(ctx, w)
	}
	c.Memory.mu.Lock()
	defer c.Memory.mu.Unlock()
	return c.usable(ctx)
}

// next claims what claim does, once the copy that the consumer reads has it. wait bounds both.
func next[T any](ctx context.Context, c *staleClient, wait time.Duration, claim func(wait time.Duration) (T, error)) (none T, err error) {
	lag := c.lag()
	if err := sleep(ctx, min(lag, wait)); err != nil {
		return none, err
	}
	if lag == 0 || lag < wait {
		return claim(wait - lag)
	}
	c.Memory.mu.Lock()
	defer c.Memory.mu.Unlock()
	if err := c.usable(ctx); err != nil {
		return none, err
	}
	return none, events.ErrEmpty
}

// Follow implements events.EventLog.
func (c *staleClient) Follow(ctx context.Context, reader string, wait time.Duration) (events.EventDelivery, error) {
	return next(ctx, c, wait, func(wait time.Duration) (events.EventDelivery, error) { return c.Memory.Follow(ctx, reader, wait) })
}

// FollowBuckets implements events.BucketNotifications.
func (c *staleClient) FollowBuckets(ctx context.Context, reader string, wait time.Duration) (events.Delivery, error) {
	return next(ctx, c, wait, func(wait time.Duration) (events.Delivery, error) { return c.Memory.FollowBuckets(ctx, reader, wait) })
}

// Listen implements events.Listeners.
func (c *staleClient) Listen(ctx context.Context, listener string, kinds []events.Kind, wait time.Duration) (events.EventDelivery, error) {
	c.begin(&c.events, listener)
	return next(ctx, c, wait, func(wait time.Duration) (events.EventDelivery, error) {
		return c.Memory.Listen(ctx, listener, kinds, wait)
	})
}

// ListenDead implements events.Listeners.
func (c *staleClient) ListenDead(ctx context.Context, listener string, wait time.Duration) (events.DeadLetterDelivery, error) {
	c.begin(&c.dead, listener)
	return next(ctx, c, wait, func(wait time.Duration) (events.DeadLetterDelivery, error) {
		return c.Memory.ListenDead(ctx, listener, wait)
	})
}

// Claim implements events.JobQueue.
func (c *staleClient) Claim(ctx context.Context, f events.Function, classes []string, wait time.Duration) (events.Claim, error) {
	if err := checkClasses(classes); err != nil {
		return nil, err
	}
	return next(ctx, c, wait, func(wait time.Duration) (events.Claim, error) { return c.Memory.Claim(ctx, f, classes, wait) })
}
