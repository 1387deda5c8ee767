package runs

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/events"
)

// Live is a Source whose progress can be followed.
type Live interface {
	Source
	// As in events.ProgressFeed.
	Watch(ctx context.Context, pipeline, run string) iter.Seq2[events.Progress, error]
}

// Progress is the name of the part of a bus to which jobs report their progress. The other parts
// are named like the stream of events and the buckets.
const Progress = "PROGRESS"

// Handler says which parts of a bus Follow follows, and handles what it yields. Parts whose
// function is nil are not followed. The functions of different parts are called concurrently.
type Handler struct {
	Query    events.Query // of the log, from its From on; Pipeline and Run select progress too
	Event    func(events.Recorded)
	Buckets  []string
	Entry    func(bucket string, entry events.Copy)
	Progress func(events.Progress)
	More     map[string]func(context.Context) error // parts of the caller's own, by name

	// Reading a part begins, at first or after it was away; may be nil.
	Begin func(part string)
	// Everything was yielded that existed when Begin was called; may be nil.
	Whole func(part string)
	Away  func(part string, err error) // a part can't be read, and is retried; may be nil
	// Whether an error ends Follow instead; nil: only events.ErrClosed does.
	Stop func(err error) bool
}

// retryPause is the pause before a part of the bus that can't be read is retried.
const retryPause = time.Second

// Follow calls the functions of h for what exists and for later changes, until ctx ends; it then
// returns nil. It reads any copy of the bus. After an error it resumes after the last event; of a
// key that was written several times meanwhile it yields the newest value, and progress is lost.
func Follow(ctx context.Context, bus Live, h Handler) error {
	following, within := errgroup.WithContext(ctx)
	keep := func(part string, do func(context.Context) error) {
		following.Go(func() error { return h.keep(within, part, do) })
	}
	if h.Event != nil {
		keep(events.StreamEvents, func(ctx context.Context) error { return h.followLog(ctx, bus) })
	}
	for _, name := range h.Buckets {
		keep(name, func(ctx context.Context) error { return h.followBucket(ctx, bus, name) })
	}
	if h.Progress != nil {
		keep(Progress, func(ctx context.Context) error {
			for p, err := range bus.Watch(ctx, h.Query.Pipeline, h.Query.Run) {
				if err != nil {
					return err
				}
				h.Progress(p)
			}
			return nil
		})
	}
	for part, do := range h.More {
		keep(part, do)
	}
	err := following.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// keep calls do again after each error, until ctx ends.
func (h *Handler) keep(ctx context.Context, part string, do func(context.Context) error) error {
	for {
		h.call(h.Begin, part)
		err := do(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, events.ErrClosed), err != nil && h.Stop != nil && h.Stop(err):
			return err
		case err != nil && h.Away != nil:
			h.Away(part, err)
		}
		timer := time.NewTimer(retryPause)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

func (h *Handler) call(f func(part string), part string) {
	if f != nil {
		f(part)
	}
}

// followLog keeps the position at which it resumes in h.Query.
func (h *Handler) followLog(ctx context.Context, bus Live) error {
	for _, follow := range []bool{false, true} {
		h.Query.Follow = follow
		for recorded, err := range bus.Read(ctx, h.Query) {
			if err != nil {
				return err
			}
			h.Query.From = recorded.Message.Sequence + 1
			h.Event(recorded)
		}
		if ctx.Err() == nil {
			h.call(h.Whole, events.StreamEvents)
		}
	}
	return nil
}

func (h *Handler) followBucket(ctx context.Context, bus Live, name string) error {
	kv, err := bus.KV(ctx, name)
	if err != nil {
		return err
	}
	for entry, err := range kv.Watch(ctx) {
		switch {
		case err != nil:
			return err
		case entry.Revision == 0:
			h.call(h.Whole, name)
		default:
			h.Entry(name, entry)
		}
	}
	return nil
}

// Watch is an Index that follows a bus.
type Watch struct {
	bus Live

	mu      sync.RWMutex
	index   *Index
	version uint64
	changed chan struct{}     // closed with the next change
	whole   map[string]bool   // parts that were read to their end once
	away    map[string]string // parts that can't be read now, and why
}

// NewWatch returns a watch without any runs, which keeps at most maxRuns runs.
func NewWatch(bus Live, maxRuns int) *Watch {
	w := &Watch{bus: bus, index: NewIndex(Options{MaxRuns: maxRuns}), changed: make(chan struct{}), whole: map[string]bool{}, away: map[string]string{}}
	for _, b := range w.index.buckets {
		b.whole = true // missing entries will be applied later
	}
	return w
}

// Follow follows the log and the buckets until ctx ends, and calls Progress, More and Away of h.
// While a part is away, pages show its last known state.
func (w *Watch) Follow(ctx context.Context, h Handler) error {
	away := h.Away
	h.Event = func(recorded events.Recorded) { w.Change(func(x *Index) { x.ApplyEvent(recorded) }) }
	h.Buckets = Buckets()
	h.Entry = func(name string, entry events.Copy) {
		w.Change(func(x *Index) {
			x.Apply(name, entry)
			if pipeline, run, _ := strings.Cut(entry.Key, "/"); name == events.KVJoins {
				x.Run(Key{pipeline, run}) // finds out which entries pages will need
			}
		})
	}
	h.Begin = func(part string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.index.buckets[part] != nil {
			w.index.Begin(part)
		}
	}
	h.Whole = w.MarkRead
	h.Away = func(part string, err error) {
		w.Change(func(*Index) { w.away[part] = err.Error() })
		if away != nil {
			away(part, err)
		}
	}
	more := map[string]func(context.Context) error{"revisions": w.readRevisions}
	for part, do := range h.More {
		more[part] = do
	}
	h.More = more
	return Follow(ctx, w.bus, h)
}

// readRevisions reads the pipelines at the older revisions that states depend on.
func (w *Watch) readRevisions(ctx context.Context) error {
	pipelines, err := w.bus.KV(ctx, events.KVPipelines)
	if err != nil {
		return err
	}
	for {
		for _, n := range w.index.lacks.take() {
			entry, err := pipelines.Revision(ctx, n.key, n.revision)
			if err != nil && !errors.Is(err, events.ErrNotFound) {
				return err
			}
			w.Change(func(x *Index) { x.applyNeed(n, entry, err) })
		}
		select {
		case <-ctx.Done():
			return nil
		case <-w.index.lacks.added:
		}
	}
}

// Pipeline returns a pipeline at a revision. If the watch does not have it yet, it is read from the
// leader, and kept.
func (w *Watch) Pipeline(ctx context.Context, name string, revision uint64) (Pipeline, error) {
	n := need{events.KVPipelines, name, revision}
	var p Pipeline
	known := func() (is bool) {
		w.View(func(x *Index) {
			if p, is = x.pipelines[name]; !is || p.Revision != revision {
				p, is = x.pinned[n]
			}
		})
		return is
	}
	if !known() {
		kv, err := w.bus.KV(ctx, events.KVPipelines)
		if err != nil {
			return p, err
		}
		entry, err := kv.Revision(ctx, name, revision)
		if err != nil && !errors.Is(err, events.ErrNotFound) {
			return p, err
		}
		w.Change(func(x *Index) { x.applyNeed(n, entry, err); p = x.pinned[n] })
	}
	return p, p.check(name)
}

// MarkRead notes that a part of the bus has been read to its end.
func (w *Watch) MarkRead(part string) {
	w.mu.RLock()
	known := w.whole[part] && w.away[part] == ""
	w.mu.RUnlock()
	if known && w.index.buckets[part] == nil {
		return
	}
	w.Change(func(x *Index) {
		if x.buckets[part] != nil {
			x.End(part)
		}
		w.whole[part] = true
		delete(w.away, part)
	})
}

// Status reports which of the log and the buckets are incomplete: away is why one can't be read
// now, and reading is true if one has not been read to its end yet.
func (w *Watch) Status() (away string, reading bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	for _, part := range append([]string{events.StreamEvents}, Buckets()...) {
		if away == "" {
			away = w.away[part]
		}
		reading = reading || !w.whole[part]
	}
	return away, reading
}

// Change calls do, which may change the index or what the caller keeps with it, and signals that.
func (w *Watch) Change(do func(*Index)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	do(w.index)
	w.version++
	close(w.changed)
	w.changed = make(chan struct{})
}

// View calls do while nothing changes. do must not call Change or View.
func (w *Watch) View(do func(*Index)) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	do(w.index)
}

// Version counts the changes.
func (w *Watch) Version() uint64 {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.version
}

// Changed returns a channel that is closed with the next change.
func (w *Watch) Changed() <-chan struct{} {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.changed
}
