package worker

import (
	"context"

	"github.com/stoker-ml/stoker/events"
)

// Function does one kind of job. Its methods may be called from several goroutines at once, one job each.
type Function interface {
	// Name says which jobs it takes.
	Name() events.Function
	// Handle works on one job until it is done or ctx ends, and returns the facts to publish. Every effect it has can
	// be repeated, for the same job may be handled again by anyone. Errors are events.Failures; any other error counts
	// as unavailable: the job is tried again later. The one to read next is functions/execution.
	//
	// When ctx ends with cause events.ErrCancelled, or the attempt was cancelled before it began, it makes sure that nothing
	// comes of the job any more and returns a Failure of kind cancelled; or the facts, if the work was committed before.
	Handle(ctx context.Context, task Task) ([]events.Fact, error)
	// Limits says how often what is the job's own fault may happen before the job is buried.
	Limits(job events.Job) Limits
	// Failed makes the fact that tells of a job that is given up.
	Failed(task Task, failure *events.Failure) events.Fact
}

// Task is one attempt at a job.
type Task struct {
	Job     events.Job
	Attempt events.Attempt
	Report  func(events.Progress) // cheap, never blocks; Job, Pipeline, Run, Attempt and Time are filled in
	Prove   func() error          // events.ErrLeaseLost unless the job is provably ours now: called right before each effect

	// Rest gives the worker's slot to other jobs while wait waits for what happens elsewhere, and keeps the lease. Its error is wait's, or
	// Later where no slot is free then. nil with a worker that works on one job, of several functions: there Later is the way to wait.
	Rest func(ctx context.Context, wait func(context.Context) error) error
}

// Limits are the numbers of tries, by whose fault it was. Everything else is retried without limit.
type Limits struct {
	Attempts int // ended by the module or by a check of its model
	Crashes  int // ended by a crash, or over memory or time
	Lost     int // ended with their worker, by Attempt.Lost; 0: 5
}
