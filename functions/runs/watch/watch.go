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

// Options say what is of interest.
type Options struct {
	Pipeline, Run string      // "": any
	Kinds         []string    // of lines: some of Kinds(); none: all
	All           bool        // first the facts that are there already
	Away          func(error) // told that the bus has gone away; it is waited for
}

// The kinds of lines besides those of facts.
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

// factKinds are the kinds of facts to read; nil where none are wanted, and all where nothing was said.
func (o Options) factKinds() (kinds []events.Kind) {
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
	Sequence uint64           `json:"sequence,omitempty"` // of a fact, in the log
	Fact     json.RawMessage  `json:"fact,omitempty"`
	State    string           `json:"state,omitempty"` // of a run's join
	Job      string           `json:"job,omitempty"`
	Progress *events.Progress `json:"progress,omitempty"`
	Error    string           `json:"error,omitempty"` // what is no valid fact, and why

	What string `json:"-"` // the one thing worth knowing of it
}

// watcher tells what several sources say, one line at a time.
type watcher struct {
	Options
	box  events.Letterbox
	tell func(Line) error

	telling sync.Mutex
	err     error // of tell: nobody reads any more
}

// Lines tells of everything that is wanted until ctx ends, which is no error, or tell fails. It waits for a bus that is away and goes on
// behind the last fact that it has told of; progress that came meanwhile is lost. tell is called once at a time.
func Lines(ctx context.Context, box events.Letterbox, opts Options, tell func(Line) error) error {
	w := &watcher{Options: opts, box: box, tell: tell}
	watching, within := errgroup.WithContext(ctx)
	if len(opts.factKinds()) > 0 {
		watching.Go(func() error { return w.facts(within) })
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

// show tells of one line. An error is that nobody reads.
func (w *watcher) show(line Line) error {
	w.telling.Lock()
	defer w.telling.Unlock()
	if w.err == nil {
		w.err = w.tell(line)
	}
	return w.err
}

// unheard says whether telling has failed.
func (w *watcher) unheard() bool {
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

// awayPause is how long a watch rests when the bus has failed it.
const awayPause = time.Second

// again asks once more whenever the bus was away. What nobody can mend by waiting ends it.
func (w *watcher) again(ctx context.Context, watch func(context.Context) error) error {
	for said := false; ; {
		err := watch(ctx)
		switch {
		case ctx.Err() != nil, errors.Is(err, events.ErrRefused), errors.Is(err, events.ErrClosed), errors.Is(err, errThere), w.unheard():
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
