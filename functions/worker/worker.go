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

// Worker runs Functions on the jobs of a letterbox.
type Worker struct {
	box   events.Letterbox
	opts  Options
	seats seats
}

// Options of a Worker.
type Options struct {
	Functions []Function
	Classes   []string // resource classes it serves; default: cpu
	Slots     int      // jobs at once, of all functions together; default 1
	Logger    *slog.Logger
	Telemetry *telemetry.Telemetry // nil: nothing is told of jobs
	Now       func() time.Time     // default time.Now; stamps progress

	Ready func(context.Context) error // waits until a job could be worked on; none is taken before. nil: always
}

// New returns a worker on box. Nothing runs before Run or Once.
func New(box events.Letterbox, opts Options) *Worker {
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
	return &Worker{box: box, opts: opts, seats: make(seats, opts.Slots)}
}

const (
	pollWait   = 5 * time.Second // how long one look at the queue may last
	shortLook  = time.Second / 4 // of one who looks for several functions in turn
	retryDelay = time.Second     // after the bus said no
)

// Run takes jobs until ctx ends, then lets the running ones hand themselves back, and returns nil. It returns an error when
// the letterbox is closed for good.
func (w *Worker) Run(ctx context.Context) error {
	slots, ctx := errgroup.WithContext(ctx)
	for _, function := range w.opts.Functions {
		for range w.opts.Slots {
			slots.Go(func() error { return w.serve(ctx, function, slots) })
		}
	}
	return slots.Wait()
}

// serve takes one job after another while there are seats, until ctx ends. Each is seen through beside it, for one that rests has no seat.
func (w *Worker) serve(ctx context.Context, function Function, jobs *errgroup.Group) error {
	for ctx.Err() == nil && w.seats.await(ctx) {
		if err := w.ready(ctx); err != nil {
			return err
		}
		claim, seat, err := w.take(ctx, function, pollWait)
		if claim != nil {
			jobs.Go(func() error {
				defer seat.leave()
				return w.afterTrouble(ctx, function, w.see(ctx, function, claim, seat.rest))
			})
		} else if err := w.afterTrouble(ctx, function, err); err != nil {
			return err
		}
	}
	return nil
}

// afterTrouble waits a moment where err says that the bus had some, and returns err where no moment helps.
func (w *Worker) afterTrouble(ctx context.Context, function Function, err error) error {
	if errors.Is(err, events.ErrClosed) {
		return err
	}
	if err != nil && ctx.Err() == nil {
		w.opts.Logger.WarnContext(ctx, "job not settled; it will be delivered again", "function", function.Name(), "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(retryDelay):
		}
	}
	return nil
}

// Once works on at most one job, waiting up to wait for it, and reports whether there was one: the shape in which a
// scaler starts workers.
func (w *Worker) Once(ctx context.Context, wait time.Duration) (worked bool, err error) {
	if err := w.ready(ctx); err != nil {
		return false, err
	}
	began, look := time.Now(), time.Duration(0) // at first, at what is there
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

// ready waits for what Options.Ready waits for. That ctx has ended meanwhile is no error.
func (w *Worker) ready(ctx context.Context) error {
	if w.opts.Ready == nil {
		return nil
	}
	if err := w.opts.Ready(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// next takes one job and sees it through. Nobody else would take its slot: where it takes jobs of one function alone it waits in it, and keeps
// a scaler from starting another in its place; else it doesn't rest, for what it waits for may be another job of its own.
func (w *Worker) next(ctx context.Context, function Function, wait time.Duration) (bool, error) {
	claim, seat, err := w.take(ctx, function, wait)
	if claim == nil {
		return false, err
	}
	defer seat.leave()
	var stay rest
	if len(w.opts.Functions) == 1 {
		stay = func(ctx context.Context, wait func(context.Context) error) error { return wait(ctx) }
	}
	return true, w.see(ctx, function, claim, stay)
}

// take takes one job, and a seat for it; a nil claim where there is none.
func (w *Worker) take(ctx context.Context, function Function, wait time.Duration) (events.Claim, *place, error) {
	claim, err := w.box.Take(ctx, function.Name(), w.opts.Classes, wait)
	if errors.Is(err, events.ErrEmpty) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("take a %s job: %w", function.Name(), err)
	}
	seat := &place{seats: w.seats}
	if !seat.take() { // a job of another function has come meanwhile
		return nil, nil, claim.Later(ctx, stopDelay, events.FailureUnavailable, "its worker was at another job")
	}
	return claim, seat, nil
}

// reporter returns a Report that fills in whose progress it is. Losing progress is no error.
func (w *Worker) reporter(ctx context.Context, job events.Job, attempt events.Attempt) func(events.Progress) {
	return func(p events.Progress) {
		p.Job, p.Pipeline, p.Run, p.Attempt, p.Time = job.ID, job.Pipeline, job.Run, attempt.ID, w.opts.Now()
		if err := w.box.Report(ctx, p); err != nil {
			w.opts.Logger.DebugContext(ctx, "progress lost", "job", job.ID, "error", err)
		}
	}
}
