// Package studiestest has a bus for the tests of packages that work on studies: one that is as bad
// as its contract allows, and that loses entries which it has acknowledged.
package studiestest

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// Bus keeps logs of studies in memory. By its seed,
//
//   - an append takes a while and may be lost before it is stored, or its answer after that;
//   - a read without follow may leave out what was not acknowledged when it began, and is not a
//     snapshot;
//   - a read with follow yields entries late.
//
// Lose removes the newest entries, and later entries get their sequences. A Bus may be used by
// several goroutines at once. Its pauses are on the clock of testing/synctest.
type Bus struct {
	mu      sync.Mutex
	random  *rand.Rand
	entries []stored
	changed chan struct{}
	calm    bool
}

type stored struct {
	events.StudyEntry
	acknowledged bool
}

// New makes a bus without entries.
func New(seed uint64) *Bus {
	return &Bus{random: rand.New(rand.NewPCG(seed, 18)), changed: make(chan struct{})}
}

// Calm ends the bus's faults: nothing is late or lost any more, except what Lose removes.
func (b *Bus) Calm() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calm = true
}

// Lose removes the n newest entries of all studies.
func (b *Bus) Lose(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.entries = b.entries[:max(0, len(b.entries)-n)]
}

// chance is true once in n times, and never on a calm bus.
func (b *Bus) chance(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.calm && b.random.IntN(n) == 0
}

// wait waits up to most; a calm bus doesn't wait.
func (b *Bus) wait(ctx context.Context, most time.Duration) {
	b.mu.Lock()
	pause := time.Duration(b.random.Int64N(int64(most)))
	if b.calm {
		pause = 0
	}
	b.mu.Unlock()
	select {
	case <-ctx.Done():
	case <-time.After(pause):
	}
}

// AppendStudy implements events.StudyLog.
func (b *Bus) AppendStudy(ctx context.Context, study events.Study, body []byte, after uint64) (uint64, error) {
	b.wait(ctx, 20*time.Millisecond)
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	if b.chance(15) {
		return 0, fmt.Errorf("append to %s: no answer", study.ID)
	}
	sequence, err := b.store(study, body, after)
	if err != nil {
		return 0, err
	}
	b.wait(ctx, 50*time.Millisecond)
	b.acknowledge(sequence)
	if b.chance(15) || ctx.Err() != nil {
		return 0, fmt.Errorf("append to %s: the answer is lost", study.ID)
	}
	return sequence, nil
}

func (b *Bus) store(study events.Study, body []byte, after uint64) (uint64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	newest, last := uint64(0), uint64(0)
	for _, e := range b.entries {
		last = e.Sequence
		if e.Study == study {
			newest = e.Sequence
		}
	}
	if newest != after {
		return 0, fmt.Errorf("append to %s after entry %d: %w: it is at %d", study.ID, after, events.ErrConflict, newest)
	}
	e := events.StudyEntry{Study: study, Sequence: last + 1, Stored: time.Now(), Body: slices.Clone(body)}
	b.entries = append(b.entries, stored{StudyEntry: e})
	close(b.changed)
	b.changed = make(chan struct{})
	return e.Sequence, nil
}

// acknowledge records that an entry is stored. It may be lost by then, and another one may have its
// sequence.
func (b *Bus) acknowledge(sequence uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.entries {
		if b.entries[i].Sequence <= sequence {
			b.entries[i].acknowledged = true
		}
	}
}

// next returns the first entry after a sequence; false if there is none. changed is closed when
// another one is stored.
func (b *Bus) next(study events.Study, after uint64) (e stored, found bool, changed <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.entries {
		if e.Study == study && e.Sequence > after {
			return e, true, b.changed
		}
	}
	return e, false, b.changed
}

// ReadStudy implements events.StudyLog.
func (b *Bus) ReadStudy(ctx context.Context, study events.Study, after uint64, follow bool) iter.Seq2[events.StudyEntry, error] {
	return func(yield func(events.StudyEntry, error) bool) {
		for next := after; ; {
			b.wait(ctx, 5*time.Millisecond)
			e, found, changed := b.next(study, next)
			switch {
			case ctx.Err() != nil && follow:
				return
			case ctx.Err() != nil:
				yield(events.StudyEntry{}, context.Cause(ctx))
				return
			case !found && !follow, found && !follow && !e.acknowledged && b.chance(2):
				return
			case !found:
				select {
				case <-ctx.Done():
				case <-changed:
				}
				continue
			case follow:
				b.wait(ctx, 200*time.Millisecond)
			}
			if next = e.Sequence; !yield(e.StudyEntry, nil) {
				return
			}
		}
	}
}

// Studies implements events.StudyLog.
func (b *Bus) Studies(_ context.Context, pipeline string) iter.Seq2[events.StudyEntry, error] {
	return func(yield func(events.StudyEntry, error) bool) {
		for _, e := range b.newest(pipeline) {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (b *Bus) newest(pipeline string) (list []events.StudyEntry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	seen := map[events.Study]bool{}
	for _, e := range slices.Backward(b.entries) {
		if !seen[e.Study] && (pipeline == "" || e.Study.Pipeline == pipeline) {
			seen[e.Study] = true
			list = append(list, e.StudyEntry)
		}
	}
	slices.Reverse(list)
	return list
}

// Log returns the entries of a study.
func (b *Bus) Log(study events.Study) (log []events.StudyEntry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.entries {
		if e.Study == study {
			log = append(log, e.StudyEntry)
		}
	}
	return log
}
