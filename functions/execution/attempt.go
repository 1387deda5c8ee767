package execution

import (
	"context"
	"errors"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/group"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/storage"
)

// Attempt is one try at an execution, on a desk of its own. Its methods are called in the order they have here, each once.
type Attempt struct {
	worker.Task
	Execution Execution
	Desk      Desk
	Started   time.Time
	Resumed   int // step of the checkpoint that it goes on from; 0: from the start

	from               string      // which checkpoint that is; "" for none
	module             code        // once it was found
	also               []Input     // that were staged and decide nothing of the result
	together           *group.Work // of all hosts of the worker's group; nil: this one works alone
	shop               *Workshop
	checkpoints        *storage.Checkpoints // of the execution; nil before it was looked for one
	mayHaveCheckpoints bool                 // of this attempt or of another

	log, logTail string // of the module, once it has run: where it is kept, and how it ends
}

// Attempt begins a try at an execution. It is to be closed.
func (w *Workshop) Attempt(task worker.Task, e Execution) (*Attempt, error) {
	desk, err := w.openDesk(task, e.outputs)
	if err != nil {
		return nil, err
	}
	return &Attempt{Task: task, Execution: e, Desk: desk, Started: w.opts.Now(), shop: w}, nil
}

// Close takes the desk away, and has the other hosts of the group end what they do for the attempt.
func (a *Attempt) Close() {
	if a.together != nil {
		a.together.End()
	}
	a.Desk.clear()
}

// Outcome is what the rest of an attempt comes to: finish runs the module and makes what it leaves the outcome of the execution,
// while the checkpoints for which it calls take are sent. Those of an execution that is committed are removed.
func (a *Attempt) Outcome(ctx context.Context, finish func(take Take) (*Result, error)) (done *Result, err error) {
	err = a.saving(ctx, func(take Take) (err error) {
		done, err = finish(take)
		return err
	})
	if err != nil {
		return nil, a.withLog(err)
	}
	a.forget(ctx)
	return done, nil
}

// withLog adds the module's log to the failure of a check: why a module has left no model is often said there.
func (a *Attempt) withLog(err error) error {
	if failure, ok := errors.AsType[*events.Failure](err); ok && failure.Kind == events.FailureCheck && failure.Log == "" {
		failure.Log, failure.LogTail = a.log, a.logTail
	}
	return err
}

// CountTrial tells of a trial that the attempt has ended.
func (a *Attempt) CountTrial(ctx context.Context, status string) {
	a.shop.opts.Telemetry.Trial(ctx, a.Job.Pipeline, status)
}

// Now is the time that a story tells.
func (a *Attempt) Now() time.Time { return a.shop.opts.Now() }
