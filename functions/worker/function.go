package worker

import (
	"context"

	"github.com/stoker-ml/stoker/events"
)

// Function does one kind of job. Its methods may be called from several goroutines at once, one job
// each.
type Function interface {
	// Name says which jobs the function does.
	Name() events.Function
	// Handle works on one job until it is done or ctx ends, and returns the events to publish. Each
	// of its effects must be repeatable, because any worker may handle the same job again. Errors
	// are events.Failures; any other error counts as unavailable: the job is retried later. The
	// implementation is in functions/execution.
	//
	// When ctx ends with cause events.ErrCancelled, or the attempt was cancelled before it began,
	// Handle makes sure that the job has no later effect and returns a Failure of kind cancelled;
	// or the events, if the work was committed before.
	Handle(ctx context.Context, task Task) ([]events.Event, error)
	// Limits says how often a failure that is the job's own fault may happen before the job is
	// given up.
	Limits(job events.Job) Limits
	// Failed makes the event that announces that a job is given up.
	Failed(task Task, failure *events.Failure) events.Event
}

// Task is one attempt at a job.
type Task struct {
	Job     events.Job
	Attempt events.Attempt
	Report  func(events.Progress) // cheap, never blocks; Job, Pipeline, Run, Attempt and Time are filled in
	Prove   func() error          // events.ErrLeaseLost unless the job is provably ours now: called right before each effect

	// WithoutSlot gives the worker's slot to other jobs while wait runs, and keeps the lease. It
	// returns the error of wait, or Later if no slot is free then. It is nil in a worker that works
	// on one job, of several functions: return Later there to wait.
	WithoutSlot func(ctx context.Context, wait func(context.Context) error) error
}

// Limits are the numbers of tries, by the cause of the failure. Other failures are retried without
// limit.
type Limits struct {
	Attempts int // ended by the module or by a check of its model
	Crashes  int // ended by a crash, or over memory or time
	Lost     int // ended with their worker, by Attempt.Lost; 0: 5
}
