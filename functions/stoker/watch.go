package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
)

// watchFlags are the flags of `stoker watch`.
type watchFlags struct {
	pipeline, run string
	kinds         []string
	all           bool
}

// What watch shows besides facts.
const (
	watchRun      = "run"      // a run's join has moved: it waits, is complete, has a job
	watchProgress = "progress" // of a job
)

func watchKinds() []string {
	kinds := []string{watchRun, watchProgress}
	for _, kind := range events.Kinds() {
		kinds = append(kinds, string(kind))
	}
	return kinds
}

func newWatch(app *app) *cobra.Command {
	var f watchFlags
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Show what happens, a line an event, until it is interrupted",
		Long: "Shows facts, how runs move, and progress, as they come; with -o json an object a line. While the bus is away it waits, and\n" +
			"goes on behind the last fact that it has shown. Progress that came meanwhile is lost.",
		Example: "  stoker watch\n" +
			"  stoker watch --kind model.trained,training.failed -o json | jq -r .pipeline\n" +
			"  stoker watch --pipeline penguin --all",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return app.withBus(cmd.Context(), func(ctx context.Context, box events.Letterbox) error {
				return app.watch(ctx, box, f)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.pipeline, "pipeline", "", "only what is of this pipeline")
	flags.StringVar(&f.run, "run", "", "only what is of this run")
	flags.StringSliceVar(&f.kinds, "kind", nil, "only these: "+strings.Join(watchKinds(), ", ")+" (repeatable)")
	flags.BoolVar(&f.all, "all", false, "first the facts that are there already")
	return cmd
}

func (f watchFlags) check() error {
	for _, kind := range f.kinds {
		if !slices.Contains(watchKinds(), kind) {
			return exit.Usage(fmt.Errorf("--kind %s: expected one of %s", kind, strings.Join(watchKinds(), ", ")))
		}
	}
	return nil
}

func (f watchFlags) wants(kind string) bool {
	return len(f.kinds) == 0 || slices.Contains(f.kinds, kind)
}

// factKinds are the kinds of facts to read; nil where none are wanted, and all where nothing was said.
func (f watchFlags) factKinds() (kinds []events.Kind) {
	for _, kind := range events.Kinds() {
		if f.wants(string(kind)) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// watched is one line of `stoker watch`.
type watched struct {
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

	what string // for people
}

// watcher prints what several sources tell.
type watcher struct {
	*app
	watchFlags
	box events.Letterbox

	printing sync.Mutex
	err      error // of printing: nobody reads any more
}

// watch is told of everything that is wanted until ctx ends, which is no error.
func (a *app) watch(ctx context.Context, box events.Letterbox, f watchFlags) error {
	w := &watcher{app: a, watchFlags: f, box: box}
	watching, ctx2 := errgroup.WithContext(ctx)
	if len(f.factKinds()) > 0 {
		watching.Go(func() error { return w.facts(ctx2) })
	}
	if f.wants(watchRun) {
		watching.Go(func() error { return w.again(ctx2, w.runs) })
	}
	if f.wants(watchProgress) {
		watching.Go(func() error { return w.again(ctx2, w.progress) })
	}
	err := watching.Wait()
	if exit.IsInterrupt(ctx, err) || ctx.Err() != nil {
		return nil
	}
	return err
}

// show prints one line. An error is that nobody reads.
func (w *watcher) show(line watched) error {
	w.printing.Lock()
	defer w.printing.Unlock()
	if w.err != nil {
		return w.err
	}
	if w.forPrograms() { // one object a line: what comes one after another has no other JSON
		w.err = json.NewEncoder(w.stdout).Encode(line)
		return w.err
	}
	_, w.err = io.WriteString(w.stdout, line.text()+"\n")
	return w.err
}

// text is the line for people.
func (l watched) text() string {
	return strings.TrimRight(fmt.Sprintf("%s  %-16s %s/%s  %s", l.Time.Local().Format(time.TimeOnly), l.Kind, l.Pipeline, l.Run, l.what), " ")
}

// awayPause is how long a watch rests when the bus has failed it.
const awayPause = time.Second

// again asks once more whenever the bus was away. What nobody can mend by waiting ends it.
func (w *watcher) again(ctx context.Context, watch func(context.Context) error) error {
	for said := false; ; {
		err := watch(ctx)
		switch {
		case ctx.Err() != nil, errors.Is(err, events.ErrRefused), errors.Is(err, events.ErrClosed), errors.Is(err, errThere), w.err != nil:
			return err
		case err != nil && !said:
			fmt.Fprintf(w.notes(), "the bus is away: %v; waiting for it\n", err)
			said = true
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(awayPause):
		}
	}
}
