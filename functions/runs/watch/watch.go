package watch

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/events"
)

// Options select lines.
type Options struct {
	Pipeline, Run string      // "": any
	Kinds         []string    // of lines: some of Kinds(); none: all
	All           bool        // first the events that are in the log already
	Away          func(error) // called when the bus has gone away; Lines waits for it
}

// The kinds of lines other than those of events.
const (
	Run      = "run"      // a run's join has moved: it waits, is complete, has a job
	Progress = "progress" // of a job
)

// Kinds are those of lines.
func Kinds() []string {
	kinds := []string{Run, Progress}
	for _, kind := range events.Kinds() {
		kinds = append(kinds, string(kind))
	}
	return kinds
}

func (o Options) wants(kind string) bool {
	return len(o.Kinds) == 0 || slices.Contains(o.Kinds, kind)
}

// factKinds are the kinds of events to read; nil for none.
func (o Options) eventKinds() (kinds []events.Kind) {
	for _, kind := range events.Kinds() {
		if o.wants(string(kind)) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// Line is one thing that has happened.
type Line struct {
	Time     time.Time        `json:"time"`
	Kind     string           `json:"kind"`
	Pipeline string           `json:"pipeline,omitempty"`
	Run      string           `json:"run,omitempty"`
	Sequence uint64           `json:"sequence,omitempty"` // of an event, in the log
	Event    json.RawMessage  `json:"fact,omitempty"`
	State    string           `json:"state,omitempty"` // of a run's join
	Job      string           `json:"job,omitempty"`
	Progress *events.Progress `json:"progress,omitempty"`
	Error    string           `json:"error,omitempty"` // why an event is invalid

	What string `json:"-"` // its most important detail
}

// watcher shows the lines of several sources, one at a time.
type watcher struct {
	Options
	bus  events.Bus
	show func(Line) error

	telling sync.Mutex
	err     error // of show
}

// Lines calls show for each line until ctx ends, which is no error, or show fails. It waits for a
// bus that is away and resumes behind the last event that it has shown; progress that came
// meanwhile is lost. Calls of show don't overlap.
func Lines(ctx context.Context, bus events.Bus, opts Options, show func(Line) error) error {
	w := &watcher{Options: opts, bus: bus, show: show}
	watching, within := errgroup.WithContext(ctx)
	if len(opts.eventKinds()) > 0 {
		watching.Go(func() error { return w.events(within) })
	}
	if opts.wants(Run) {
		watching.Go(func() error { return w.again(within, w.runs) })
	}
	if opts.wants(Progress) {
		watching.Go(func() error { return w.again(within, w.progress) })
	}
	err := watching.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// line shows one line. It returns the error of show.
func (w *watcher) line(line Line) error {
	w.telling.Lock()
	defer w.telling.Unlock()
	if w.err == nil {
		w.err = w.show(line)
	}
	return w.err
}

// writeFailed reports whether show has failed.
func (w *watcher) writeFailed() bool {
	w.telling.Lock()
	defer w.telling.Unlock()
	return w.err != nil
}

func (w *watcher) away(err error) {
	w.telling.Lock()
	defer w.telling.Unlock()
	if w.Away != nil {
		w.Away(err)
	}
}

// awayPause is how long a watch pauses after an error of the bus.
const awayPause = time.Second

// again repeats watch whenever the bus was away. Other errors end it.
func (w *watcher) again(ctx context.Context, watch func(context.Context) error) error {
	for said := false; ; {
		err := watch(ctx)
		switch {
		case ctx.Err() != nil, errors.Is(err, events.ErrRefused), errors.Is(err, events.ErrClosed), errors.Is(err, errThere), w.writeFailed():
			return err
		case err != nil && !said:
			w.away(err)
			said = true
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(awayPause):
		}
	}
}
