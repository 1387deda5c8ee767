package replay

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/storage"
)

// Replay finds what is missing on a bus and in a store, and repeats it.
type Replay struct {
	bus        events.Bus
	store      storage.Store
	dispatcher *dispatch.Dispatcher
}

// New opens the buckets that a replay needs. log may be nil.
func New(ctx context.Context, bus events.Bus, store storage.Store, log *slog.Logger) (*Replay, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	dispatcher, err := dispatch.New(ctx, bus, log)
	if err != nil {
		return nil, err
	}
	return &Replay{bus: bus, store: store, dispatcher: dispatcher}, nil
}

// Action is what a replay does for a run.
type Action string

// The actions of a replay.
const (
	Leave Action = "leave" // nothing is missing, or nothing can be done
	Join  Action = "join"  // its events are handled again: it may wait for more, or get its job
	Offer Action = "offer" // the same job is enqueued again
	// Its model is gone or damaged: the same execution again, as another generation.
	Train Action = "train"
	// The hyperparameters that its search found are gone or damaged, and others need them: the same
	// search again.
	Tune  Action = "tune"
	Force Action = "force" // another execution, on request
	// nothing: the run's state can't be read, or an input of its job is gone for good
	Stuck Action = "stuck"
)

// Run identifies a run.
type Run = runs.Key

// Step is what a replay does for one run, and why.
type Step struct {
	Run
	Action   Action        `json:"action"`
	Why      string        `json:"why"`
	WaitsFor []events.Kind `json:"waits_for,omitempty"`
	// Runs whose outcomes come first: those of the steps in after.
	After []Run `json:"after,omitempty"`

	completed uint64     // sequence of the run's newest event: steps are executed in this order
	again     join.Retry // how the job differs from the first one
	events    []uint64   // the events that the join is made from, by sequence
	rejoin    bool       // there is no join: it is rebuilt from the log first

	makes      storage.Place // the execution whose result the step makes again; zero for none
	startsFrom storage.Place // the execution whose model it starts from; zero for none
	trainsWith storage.Place // the execution that found its hyperparameters; zero for none
	fetched    bool          // it was added because other steps need its result
	after      []int         // steps whose outcomes come first
	needs      []int         // those of them whose results this one needs
}

// idle reports whether the step has no effect.
func (s Step) idle() bool { return s.Action == Leave || s.Action == Stuck }

// Options select runs, and say how they are replayed.
type Options struct {
	From     From
	Pipeline string // "" for all
	Run      string // "" for all
	Force    bool
	Request  string // identifies a forced replay: the same request makes the same executions
}

// From is where in the log a replay begins: it selects runs that have an event from there on. The
// zero value is the beginning of the log.
type From struct {
	Sequence uint64
	Time     time.Time // by the bus's clock
}

// reached reports whether a run has such an event.
func (f From) reached(t *runs.Timeline) bool {
	return slices.ContainsFunc(t.Events, func(e runs.Event) bool { return e.Sequence >= f.Sequence && !e.Stored.Before(f.Time) })
}
