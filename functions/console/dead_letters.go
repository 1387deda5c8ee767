package console

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/replay"
	"github.com/stoker-ml/stoker/functions/internal/mask"
	"github.com/stoker-ml/stoker/functions/runs"
)

// deadLetters are all dead letters.
type deadLetters struct {
	count   int
	newest  map[key]uint64 // number of a run's newest dead letter
	entries []deadEntry    // the newest first; at most maxDeadEntries
}

// deadEntry is what lists need of a dead letter.
type deadEntry struct {
	Number        uint64
	Stored        time.Time
	Pipeline, Run string
	Kind          events.FailureKind
	Why           string // first line of the reason, without secrets
	Pattern       string // replay.ReasonPattern, without secrets
	Group         string
	Stream        string // of the message
	Sequence      uint64 // of the message in Stream
	// Revision of the pipeline that a retry uses; 0: the message is an event, whose retry uses the
	// applied one.
	Revision uint64
}

// maxDeadEntries bounds the memory that the lists of dead letters take: the newest are kept.
const maxDeadEntries = 20_000

// maxWhy bounds an entry, in bytes.
const maxWhy = 600

func deadEntryOf(d events.DeadLetter) deadEntry {
	e := deadEntry{Number: d.Sequence, Stored: d.Stored, Kind: d.Reason.Kind, Stream: d.Message.Stream, Sequence: d.Message.Sequence}
	e.Pipeline, e.Run = replay.RunOf(d)
	if job, ok := replay.JobOf(d); ok {
		e.Revision = job.Revision
	}
	reason := d.Reason.Message
	pattern := replay.ReasonPattern(reason, e.Run)
	e.Group = replay.GroupOf(e.Kind, pattern)
	e.Pattern = mask.Text(pattern)
	e.Why = mask.Text(shortened(runs.FirstLine(reason[:min(len(reason), 4*maxWhy)]), maxWhy))
	return e
}

// shortened returns at most so many bytes of a text.
func shortened(text string, most int) string {
	if len(text) > most {
		text = text[:most] + "…"
	}
	return strings.ToValidUTF8(text, "")
}

// deadPause is how often dead letters are listed, because they are not announced.
const deadPause = 10 * time.Second

// deadReader says when the dead letters were listed last. One goroutine lists them at a time.
type deadReader struct {
	mu   sync.Mutex
	at   time.Time
	took time.Duration
}

// deadFresh is how old a list on a page may be. A list that takes long to read may be older.
const deadFresh = time.Second

// freshDead returns the dead letters as they were at most deadFresh ago.
func (m *model) freshDead(ctx context.Context) (now deadLetters, err error) {
	m.deadRead.mu.Lock()
	if age := time.Since(m.deadRead.at); age >= max(deadFresh, 4*m.deadRead.took) {
		err = m.readDeadLocked(ctx)
	}
	m.deadRead.mu.Unlock()
	m.View(func(*runs.Index) { now = m.dead })
	return now, err
}

// followDead lists the dead letters repeatedly, until ctx ends.
func (m *model) followDead(ctx context.Context) error {
	for {
		if err := m.readDead(ctx); err != nil {
			return err
		}
		m.MarkRead(events.StreamDead)
		if !sleep(ctx, deadPause) {
			return nil
		}
	}
}

// readDead lists the dead letters once.
func (m *model) readDead(ctx context.Context) error {
	m.deadRead.mu.Lock()
	defer m.deadRead.mu.Unlock()
	return m.readDeadLocked(ctx)
}

func (m *model) readDeadLocked(ctx context.Context) error {
	begun := time.Now()
	var before deadLetters
	m.View(func(*runs.Index) { before = m.dead })
	known := make(map[uint64]deadEntry, len(before.entries))
	for _, e := range before.entries {
		known[e.Number] = e
	}
	now, same := deadLetters{newest: map[key]uint64{}}, true
	for deadLetter, err := range m.deadQueue.DeadLetters(ctx) {
		if err != nil {
			return err
		}
		e, there := known[deadLetter.Sequence]
		if !there || !e.Stored.Equal(deadLetter.Stored) {
			e, same = deadEntryOf(deadLetter), false
		}
		now.count++
		if e.Run != "" {
			now.newest[key{Pipeline: e.Pipeline, Run: e.Run}] = e.Number
		}
		now.entries = append(now.entries, e)
		if len(now.entries) >= 2*maxDeadEntries {
			now.entries = slices.Delete(now.entries, 0, maxDeadEntries)
		}
	}
	now.entries = slices.Clone(now.entries[max(0, len(now.entries)-maxDeadEntries):])
	slices.Reverse(now.entries)
	m.deadRead.at, m.deadRead.took = time.Now(), time.Since(begun)
	if !same || before.count != now.count || !maps.Equal(before.newest, now.newest) {
		m.Change(func(*runs.Index) { m.dead = now })
	}
	return nil
}
