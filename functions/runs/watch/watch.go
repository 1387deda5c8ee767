// Package watch prints events, state changes of runs, and progress, line by line, from a bus that
// may be away at times. Read Lines first.
package watch

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/runs"
)

// Options select lines.
type Options struct {
	Pipeline, Run string      // "": any
	Kinds         []string    // kinds of lines, some of Kinds(); none: all
	All           bool        // begins with the events that are in the log already
	Away          func(error) // called when the bus is away; Lines waits for it
	// Shortest time between two reports of progress of one job in the same phase; those in between
	// are not shown. 0: all are.
	ProgressEvery time.Duration
}

// The kinds of lines other than those of events.
const (
	Run      = "run"      // a run's join has changed: it waits, is complete, has a job
	Progress = "progress" // of a job
)

// Kinds returns the kinds of lines.
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

// eventKinds returns the kinds of events to read; nil for none.
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
	Event    json.RawMessage  `json:"event,omitempty"`
	State    string           `json:"state,omitempty"` // of a run's join
	Job      string           `json:"job,omitempty"`
	Progress *events.Progress `json:"progress,omitempty"`
	Error    string           `json:"error,omitempty"` // why an event is invalid

	What string `json:"-"` // its most important detail
}

// watcher shows the lines of several parts of the bus, one at a time.
type watcher struct {
	Options
	show func(Line) error
	stop context.CancelFunc

	// By job, the last that was shown; of the goroutine of progress.
	shown map[string]events.Progress

	mu    sync.Mutex
	err   error           // the error of show
	whole map[string]bool // parts that were read to their present end, so that later lines are new
	away  map[string]bool // parts that were reported to be away
}

// Lines calls show for each line until ctx ends; it then returns nil. It returns the error of show.
// It waits for a bus that is away and resumes after the last event that it has shown; progress in
// between is lost. Calls of show don't overlap.
func Lines(ctx context.Context, bus runs.Live, opts Options, show func(Line) error) error {
	following, stop := context.WithCancel(ctx)
	defer stop()
	w := &watcher{Options: opts, show: show, stop: stop, shown: map[string]events.Progress{}, whole: map[string]bool{}, away: map[string]bool{}}
	h := runs.Handler{
		Query: events.Query{Kinds: opts.eventKinds(), Pipeline: opts.Pipeline, Run: opts.Run},
		Begin: w.begin,
		Whole: w.read,
		Away:  w.report,
		Stop:  func(err error) bool { return errors.Is(err, events.ErrRefused) },
	}
	if len(h.Query.Kinds) > 0 {
		h.Event = func(recorded events.Recorded) { w.line(events.StreamEvents, ofEvent(recorded)) }
	}
	if opts.wants(Run) {
		h.Buckets, h.Entry = []string{events.KVJoins}, w.join
	}
	if opts.wants(Progress) {
		h.Progress = w.progress
	}
	err := runs.Follow(following, bus, h)
	w.mu.Lock()
	defer w.mu.Unlock()
	return errors.Join(w.err, err)
}

// begin marks that a part is read from its beginning: its present content is not new. The log
// resumes where it was, and progress has no beginning.
func (w *watcher) begin(part string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch part {
	case runs.Progress:
		w.whole[part] = true
	case events.StreamEvents:
		w.whole[part] = w.whole[part] || w.All
	default:
		w.whole[part] = false
	}
}

func (w *watcher) read(part string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.whole[part] = true
}

// line shows one line of a part, if it is new.
func (w *watcher) line(part string, line Line) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil || !w.whole[part] {
		return
	}
	if w.err = w.show(line); w.err != nil {
		w.stop()
	}
}

// report calls Away once for each part.
func (w *watcher) report(part string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Away != nil && !w.away[part] {
		w.Away(err)
	}
	w.away[part] = true
}

func ofEvent(recorded events.Recorded) Line {
	line := Line{Time: recorded.Message.Stored, Sequence: recorded.Message.Sequence}
	if recorded.Err != nil {
		line.Kind, line.Error, line.What = "refused", recorded.Err.Error(), recorded.Message.Subject+": "+recorded.Err.Error()
		return line
	}
	event := recorded.Event
	line.Kind, line.Pipeline, line.Run, line.Event = string(event.Data.Kind()), event.Pipeline, event.Run, runs.JSON(event)
	line.What = runs.FirstLine(event.Data.Summary())
	if trained, ok := event.Data.(*events.ModelTrained); ok {
		line.What = runs.Metrics(trained.Metrics) + "  " + line.What
	}
	return line
}

// join shows that a join has changed.
func (w *watcher) join(bucket string, entry events.Copy) {
	j, err := dispatch.DecodeJoin(events.Entry(entry))
	switch {
	case entry.Deleted, err != nil: // the dispatcher repairs and logs an unreadable join
	case w.Pipeline != "" && w.Pipeline != j.Pipeline, w.Options.Run != "" && w.Options.Run != j.Run:
	default:
		w.line(bucket, ofJoin(j, events.Entry(entry)))
	}
}

func ofJoin(j join.Join, entry events.Entry) Line {
	line := Line{Time: entry.Written, Kind: Run, Pipeline: j.Pipeline, Run: j.Run, State: string(j.State), Job: j.Current().Job}
	switch {
	case j.State == join.Ended:
		line.What = "ended: " + runs.FirstLine(j.Ending.Message)
	case j.IsSearching():
		line.What = "is tuned"
	case j.State == join.Waiting:
		line.What = "waits for more events"
	case j.State == join.Complete:
		line.What = "has all that it waits for"
	default:
		line.What = "job " + line.Job
	}
	if j.Current().Outcome != 0 {
		line.What += ", whose outcome is known"
	}
	return line
}

// maxJobs is how many jobs progress remembers: enough for those that run at the same time.
const maxJobs = 10_000

// progress shows a report of a job, unless the one before was shown just now.
func (w *watcher) progress(p events.Progress) {
	if last, ok := w.shown[p.Job]; ok && last.Phase == p.Phase && last.Attempt == p.Attempt && p.Time.Sub(last.Time) < w.ProgressEvery {
		return
	}
	if len(w.shown) >= maxJobs {
		clear(w.shown)
	}
	w.shown[p.Job] = p
	w.line(runs.Progress, Line{
		Time: p.Time, Kind: Progress, Pipeline: p.Pipeline, Run: p.Run, Job: p.Job, Progress: &p,
		What: runs.FirstLine(p.Phase + " " + runs.Step(p) + runs.Metrics(p.Metrics)),
	})
}
