package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/events"
)

// Worker runs Functions on the jobs of a letterbox.
type Worker struct {
	box  events.Letterbox
	opts Options
}

// Options of a Worker.
type Options struct {
	Functions []Function
	Classes   []string // resource classes it serves; default: cpu
	Slots     int      // jobs of each function at once; default 1
	Logger    *slog.Logger
	Now       func() time.Time // default time.Now; stamps progress
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
	return &Worker{box: box, opts: opts}
}

// pollWait is how long one look at the queue may last.
const pollWait = 5 * time.Second

// Run takes jobs until ctx ends, then lets the running ones hand themselves back. It returns nil after ctx ended, and
// an error only when the letterbox is closed for good.
func (w *Worker) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, function := range w.opts.Functions {
		for range w.opts.Slots {
			group.Go(func() error { return w.serve(ctx, function) })
		}
	}
	if err := group.Wait(); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// serve is one slot: one job after another.
func (w *Worker) serve(ctx context.Context, function Function) error {
	for ctx.Err() == nil {
		_, err := w.next(ctx, function, pollWait)
		if err != nil && ctx.Err() == nil {
			w.opts.Logger.Warn("job not settled; it will be delivered again", "function", function.Name(), "error", err)
			pause(ctx, time.Second)
		}
	}
	return nil
}

// Once works on at most one job, waiting up to wait for it, and reports whether there was one: the shape in which a
// scaler starts workers.
func (w *Worker) Once(ctx context.Context, wait time.Duration) (worked bool, err error) {
	for _, function := range w.opts.Functions {
		if worked, err = w.next(ctx, function, wait); worked || err != nil {
			return worked, err
		}
	}
	return false, nil
}

// next takes one job and sees it through.
func (w *Worker) next(ctx context.Context, function Function, wait time.Duration) (bool, error) {
	claim, err := w.box.Take(ctx, function.Name(), w.opts.Classes, wait)
	if errors.Is(err, events.ErrEmpty) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("take a %s job: %w", function.Name(), err)
	}
	return true, w.see(ctx, function, claim)
}

// see brings a claimed job to its fate.
func (w *Worker) see(ctx context.Context, function Function, claim events.Claim) error {
	job, err := claim.Job()
	if err != nil {
		failure := &events.Failure{Kind: events.FailureInput, Err: err}
		return claim.Never(ctx, failure.Reason())
	}
	task := Task{Job: job, Attempt: claim.Attempt(), Report: w.reporter(ctx, job, claim.Attempt())}
	log := w.opts.Logger.With("job", job.ID, "pipeline", job.Pipeline, "run", job.Run, "attempt", task.Attempt.ID)
	log.Info("job taken", "function", job.Function, "number", task.Attempt.Number)
	err = claim.Hold(ctx, func(ctx context.Context) error { return w.work(ctx, function, task) })
	return w.settle(ctx, function, claim, task, err, log)
}

// work handles the task and publishes what it led to, all while the lease is held.
func (w *Worker) work(ctx context.Context, function Function, task Task) error {
	facts, err := handle(ctx, function, task)
	if err != nil {
		return err
	}
	for _, fact := range facts {
		if _, err := w.box.Publish(ctx, fact); err != nil {
			return fmt.Errorf("publish %s of run %s: %w", fact.Data.Kind(), fact.Run, err)
		}
	}
	return nil
}

// handle recovers once, here, where code of a function runs: a panic is a fault of ours in handling this job.
func handle(ctx context.Context, function Function, task Task) (facts []events.Fact, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = events.Fail(events.FailureCrash, fmt.Errorf("panic in %s: %v", function.Name(), p))
		}
	}()
	return function.Handle(ctx, task)
}
