package execution

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs/result"
	"github.com/stoker-ml/stoker/functions/telemetry"
	"github.com/stoker-ml/stoker/storage"
)

// Committed is an execution that is done: its artifacts, and in the manifest its result.
type Committed struct {
	Commit   storage.Commit
	Manifest storage.Manifest
	Reused   bool // it is that of an earlier execution, which the job takes instead of one of its own: see Reuser
}

// committed finds the execution done already: a cache hit. nil means that there is work to do. A
// commit whose objects are gone is no hit, nor is one that cancels another job: it is remembered in
// e, to be replaced.
func (x *Executor) committed(ctx context.Context, e *Execution) (*Committed, error) {
	commit, manifest, err := storage.Committed(ctx, x.store, e.root, e.ID)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		e.replaced = nil
		return nil, nil
	case errors.Is(err, storage.ErrIncomplete):
		e.Log.WarnContext(ctx, "a committed execution has lost files; it is done again", "error", err)
		e.replaces(commit, commit.Generation+1)
		return nil, nil
	case err != nil:
		return nil, events.Fail(events.FailureUnavailable, fmt.Errorf("look up execution: %w", err))
	case commit.Cancelled && commit.Job == e.Job.ID:
		return nil, cancelled(errors.New("cancelled before its result was committed"))
	case commit.Cancelled:
		e.replaces(commit, commit.Generation)
		return nil, nil
	case commit.Generation < e.Job.Generation:
		return x.raise(ctx, e, commit)
	}
	return x.found(ctx, e, commit, manifest)
}

// found takes a committed result as the job's own. The commit is marked first: else gc, which knows
// it only by the events that were published, might remove it before ours is.
func (x *Executor) found(ctx context.Context, e *Execution, commit storage.Commit, manifest storage.Manifest) (*Committed, error) {
	noted, err := storage.Found(ctx, e.fenced, e.root, commit, e.attempt)
	if err != nil {
		return nil, events.Fail(events.FailureUnavailable, fmt.Errorf("take a result that is there: %w", err))
	}
	if !noted { // it is being removed, or another attempt found it too
		return x.committed(ctx, e)
	}
	return &Committed{Commit: commit, Manifest: manifest}, nil
}

// raise counts a result that is there as one of the generation that the job asks for: somebody made
// it again without having heard of those that were lost before it.
func (x *Executor) raise(ctx context.Context, e *Execution, commit storage.Commit) (*Committed, error) {
	next := commit
	next.Generation = e.Job.Generation
	if _, _, err := storage.Recommit(ctx, e.fenced, e.root, commit, next); err != nil {
		return nil, events.Fail(events.FailureUnavailable, fmt.Errorf("count a result anew: %w", err))
	}
	return x.committed(ctx, e)
}

// commit is the one point where the execution becomes done. If another attempt was first, ours is
// removed and theirs is the job's result.
func (a *Attempt) commit(ctx context.Context, ours storage.Manifest) (_ *Committed, err error) {
	ctx, span := telemetry.Start(ctx, "commit")
	defer span.End(&err)
	e, x := a.Execution, a.executor
	for {
		winner, won, err := x.putCommit(ctx, e, storage.Commit{Attempt: ours.Attempt})
		if err != nil {
			return nil, events.Fail(events.FailureUnavailable, err)
		}
		if won {
			return &Committed{Commit: winner, Manifest: ours}, nil
		}
		theirs, err := x.committed(ctx, &e)
		if theirs == nil && err == nil {
			continue // what was first is gone, or cancels another job: ours takes its place
		}
		if theirs != nil || isCancelled(err) {
			x.discard(ctx, e, ours.Attempt, slices.Collect(maps.Keys(ours.Outputs))...)
		}
		return theirs, err
	}
}

// putCommit writes a commit where there is none, or over the one that is in the way. It fills in
// what all have in common.
func (x *Executor) putCommit(ctx context.Context, e Execution, c storage.Commit) (storage.Commit, bool, error) {
	c.Execution, c.Generation, c.Job, c.Time = e.ID, e.generation, e.Job.ID, x.opts.Now()
	if e.replaced != nil {
		return storage.Recommit(ctx, e.fenced, e.root, *e.replaced, c)
	}
	return storage.PutCommit(ctx, e.fenced, e.root, c)
}

// discard removes an attempt that lost. What stays behind is seen by no reader, and is garbage for
// later.
func (x *Executor) discard(ctx context.Context, e Execution, attempt string, outputs ...string) {
	if err := storage.Discard(ctx, e.fenced, e.place(attempt), outputs...); err != nil {
		e.Log.WarnContext(ctx, "a lost attempt is left in the store", "error", err)
	}
}

// earlier takes a committed result of the same pipeline and component as the job's own, if the
// component allows that: see storage.Found. nil if the job is to have a result of its own, if that
// one is no longer whole, or if others made it.
func (a *Attempt) earlier(ctx context.Context, c Component) (*Committed, error) {
	reuser, can := c.(Reuser)
	if !can {
		return nil, nil
	}
	e, x := a.Execution, a.executor
	place, ours := storage.ExecutionAt(reuser.Earlier(e))
	if !ours || place.Root != e.root {
		return nil, nil
	}
	for {
		commit, manifest, err := storage.Committed(ctx, x.store, place.Root, place.Execution)
		switch {
		case errors.Is(err, storage.ErrNotFound), errors.Is(err, storage.ErrIncomplete):
			return nil, nil
		case err != nil:
			return nil, events.Fail(events.FailureUnavailable, fmt.Errorf("look up earlier execution %s: %w", place.Execution, err))
		}
		made, unreadable := result.Of(manifest)
		if commit.Cancelled || commit.Retired || unreadable != nil {
			return nil, nil
		}
		if reusable, err := reuser.Reusable(ctx, a, made); err != nil || !reusable {
			return nil, err
		}
		marked, err := storage.Found(ctx, e.fenced, place.Root, commit, e.attempt)
		if err != nil {
			return nil, events.Fail(events.FailureUnavailable, fmt.Errorf("take earlier execution %s: %w", place.Execution, err))
		}
		if marked {
			return &Committed{Commit: commit, Manifest: manifest, Reused: true}, nil
		}
	}
}
