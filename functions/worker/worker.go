package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/telemetry"
)

// Worker runs Functions on the jobs of a bus.
type Worker struct {
	bus   events.Bus
	opts  Options
	slots slots
	beats *heartbeats
}

// Options of a Worker.
type Options struct {
	Functions []Function
	Classes   []string // resource classes it serves; default: cpu
	Slots     int      // jobs at once, of all functions together; default 1
	Logger    *slog.Logger
	Telemetry *telemetry.Telemetry // nil: jobs are not traced
	Now       func() time.Time     // default time.Now; stamps progress

	// Waits until a job can be worked on; none is claimed before. nil: always.
	Ready func(context.Context) error

	// What heartbeats say of it, in addition to the above.
	ID      string   // of the process; default: NewID of the host
	Version string   // of the program
	GPUs    []string // that its jobs may use
}

// New returns a worker on bus. Nothing runs before Run or Once.
func New(bus events.Bus, opts Options) *Worker {
	if len(opts.Classes) == 0 {
		opts.Classes = []string{"cpu"}
	}
	opts.Slots = max(opts.Slots, 1)
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	w := &Worker{bus: bus, opts: opts, slots: make(slots, opts.Slots)}
	w.beats = newHeartbeats(w)
	return w
}

const (
	pollWait   = 5 * time.Second // how long one request to the queue waits
	shortLook  = time.Second / 4 // the same, for each of several functions in turn
	retryDelay = time.Second     // after an error of the bus
)

// Run claims jobs until ctx ends, then waits until the running ones have handed themselves back,
// and returns nil. It returns an error when the bus is closed for good. Meanwhile it sends
// heartbeats (events.WorkerFeed).
func (w *Worker) Run(ctx context.Context) error {
	defer w.beats.begin(ctx)()
	group, ctx := errgroup.WithContext(ctx)
	for _, function := range w.opts.Functions {
		for range w.opts.Slots {
			group.Go(func() error { return w.serve(ctx, function, group) })
		}
	}
	return group.Wait()
}

// serve claims one job after another while slots are free, until ctx ends. Each job runs in a
// goroutine of its own, because a job that waits may release its slot.
func (w *Worker) serve(ctx context.Context, function Function, jobs *errgroup.Group) error {
	failing := false // to claim
	for ctx.Err() == nil && w.slots.await(ctx) {
		if err := w.ready(ctx); err != nil {
			return err
		}
		claim, slot, err := w.take(ctx, function, pollWait)
		if claim != nil {
			jobs.Go(func() error {
				defer slot.release()
				err := w.see(ctx, function, claim, slot.releaseWhile)
				return w.afterTrouble(ctx, err, slog.LevelWarn, "job not settled; it will be delivered again", function)
			})
		}
		level := slog.LevelWarn
		switch {
		case failing && err == nil:
			w.opts.Logger.InfoContext(ctx, "jobs are claimed again", "function", function.Name())
		case failing:
			level = slog.LevelDebug // a bus that is down for hours is reported once
		}
		failing = err != nil
		if err := w.afterTrouble(ctx, err, level, "jobs can't be claimed; trying again until the bus answers", function); err != nil {
			return err
		}
	}
	return nil
}

// afterTrouble logs an error of the bus that may be transient, and pauses. It returns one that
// isn't.
func (w *Worker) afterTrouble(ctx context.Context, err error, level slog.Level, what string, function Function) error {
	if errors.Is(err, events.ErrClosed) {
		return err
	}
	if err != nil && ctx.Err() == nil {
		w.opts.Logger.Log(ctx, level, what, "function", function.Name(), "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(retryDelay):
		}
	}
	return nil
}

// Once works on at most one job, waiting up to wait for it, and reports whether there was one. A
// scaler starts workers in this way.
func (w *Worker) Once(ctx context.Context, wait time.Duration) (worked bool, err error) {
	defer w.beats.begin(ctx)()
	if err := w.ready(ctx); err != nil {
		return false, err
	}
	began, look := time.Now(), time.Duration(0) // first without waiting
	for {
		for _, function := range w.opts.Functions {
			if worked, err = w.next(ctx, function, look); worked || err != nil {
				return worked, err
			}
		}
		left := wait - time.Since(began)
		if left <= 0 {
			return false, nil
		}
		look = min(left, shortLook)
	}
}

// ready waits for Options.Ready. It returns nil if ctx ends meanwhile.
func (w *Worker) ready(ctx context.Context) error {
	if w.opts.Ready == nil {
		return nil
	}
	if err := w.opts.Ready(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// next claims one job and works on it. No other job would use its slot. A worker of one function
// waits in its slot, and so keeps a scaler from starting another worker; a worker of several
// functions hands the job back instead, because the job may wait for another one that the same
// worker would claim.
func (w *Worker) next(ctx context.Context, function Function, wait time.Duration) (bool, error) {
	claim, slot, err := w.take(ctx, function, wait)
	if claim == nil {
		return false, err
	}
	defer slot.release()
	var stay withoutSlot
	if len(w.opts.Functions) == 1 {
		stay = func(ctx context.Context, wait func(context.Context) error) error { return wait(ctx) }
	}
	return true, w.see(ctx, function, claim, stay)
}

// take claims one job, and acquires a slot for it; a nil claim if there is none.
func (w *Worker) take(ctx context.Context, function Function, wait time.Duration) (events.Claim, *slot, error) {
	claim, err := w.bus.Claim(ctx, function.Name(), w.opts.Classes, wait)
	if errors.Is(err, events.ErrEmpty) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("claim a %s job: %w", function.Name(), err)
	}
	slot := &slot{slots: w.slots}
	if !slot.acquire() { // a job of another function took the last slot meanwhile
		return nil, nil, claim.Nak(ctx, stopDelay, events.FailureUnavailable, "its worker was busy with another job")
	}
	return claim, slot, nil
}

// reporter returns a Report that fills in the job of a progress. Losing progress is not an error.
func (w *Worker) reporter(ctx context.Context, job events.Job, attempt events.Attempt) func(events.Progress) {
	return func(p events.Progress) {
		p.Job, p.Pipeline, p.Run, p.Attempt, p.Time = job.ID, job.Pipeline, job.Run, attempt.ID, w.opts.Now()
		if p.Log == nil && p.Phase != "" {
			w.beats.phase(attempt.ID, p.Phase)
		}
		if err := w.bus.Report(ctx, p); err != nil {
			w.opts.Logger.DebugContext(ctx, "progress not reported", "job", job.ID, "error", err)
		}
	}
}

// Function does one kind of job. Its methods may be called by several goroutines at once, for one
// job each.
type Function interface {
	// Name says which jobs the function does.
	Name() events.Function
	// Handle works on one job until it is done or ctx ends, and returns the events to publish. Each
	// of its effects must be repeatable, because any worker may handle the same job again. Errors
	// are events.Failures; any other error counts as unavailable: the job is retried later. The
	// implementation is in functions/execution.
	//
	// When ctx ends with cause events.ErrCancelled, or the attempt was cancelled before it began,
	// Handle ensures that the job has no later effect and returns a Failure of kind cancelled; or
	// the events, if the work was committed before.
	Handle(ctx context.Context, task Task) ([]events.Event, error)
	// Limits returns how often a failure that is the job's own fault may happen before the job is
	// given up.
	Limits(job events.Job) Limits
	// Failed makes the event that announces that a job is given up.
	Failed(task Task, failure *events.Failure) events.Event
}

// Task is one attempt at a job.
type Task struct {
	Job     events.Job
	Attempt events.Attempt
	// Cheap, never blocks; fills in Job, Pipeline, Run, Attempt and Time.
	Report func(events.Progress)
	// events.ErrLeaseLost unless the job's lease is provably held; called right before each effect
	Prove func() error
	// The worker; the zero Name in a member of a group of hosts.
	Worker Name

	// WithoutSlot gives the worker's slot to other jobs while wait runs, and keeps the lease. It
	// returns the error of wait, or Later if no slot is free then. It is nil in a worker that works
	// on one job, of several functions: to wait there, return Later.
	WithoutSlot func(ctx context.Context, wait func(context.Context) error) error
}

// Name is how a worker names itself, as in its heartbeats.
type Name struct {
	ID      string // of the process
	Host    string // its name for the machine
	Version string // of the program
}

// Limits are the numbers of tries, by the cause of the failure. Other failures are retried without
// limit.
type Limits struct {
	Attempts int // ended by the module or by a check of its model
	Crashes  int // ended by a crash, or over memory or time
	Lost     int // ended with their worker, by Attempt.Lost; 0: 5
}

// slots limits how many jobs a worker does at once, of all its functions together.
type slots chan struct{}

// await waits until a slot is free, without acquiring it; false if ctx ends before.
func (s slots) await(ctx context.Context) bool {
	select {
	case s <- struct{}{}:
		<-s
		return true
	case <-ctx.Done():
		return false
	}
}

// acquire acquires a slot, if one is free.
func (s slots) acquire() bool {
	select {
	case s <- struct{}{}:
		return true
	default:
		return false
	}
}

func (s slots) release() { <-s }

// slot is the slot of one job, which may release it for a while. Only that job's goroutine uses it.
type slot struct {
	slots slots
	held  bool
}

// acquire acquires a slot again, if one is free.
func (p *slot) acquire() bool {
	p.held = p.held || p.slots.acquire()
	return p.held
}

func (p *slot) release() {
	if p.held {
		p.held = false
		p.slots.release()
	}
}

// releaseWhile releases the slot while wait runs. A job that finds no free slot afterwards goes
// back to the queue.
func (p *slot) releaseWhile(ctx context.Context, wait func(context.Context) error) error {
	p.release()
	if err := wait(ctx); err != nil || p.acquire() {
		return err
	}
	return Later{Why: "other jobs use all slots of this worker"}
}
