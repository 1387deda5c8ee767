package execution

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/telemetry"
	"github.com/stoker-ml/stoker/storage"
)

// Result is a committed execution: its artifacts, and in the manifest what was told of it.
type Result struct {
	Commit   storage.Commit
	Manifest storage.Manifest
	Reused   bool // it is that of another execution, which the job takes instead of one of its own: see Workshop.Earlier
}

// committed finds the execution done already: a cache hit. nil means that there is work to do. A commit whose objects are
// gone is no hit, nor is one that cancels another job: it is remembered in e, to be replaced.
func (w *Workshop) committed(ctx context.Context, e *Execution) (*Result, error) {
	commit, manifest, err := storage.Committed(ctx, w.store, e.root, e.ID)
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
		return w.raise(ctx, e, commit)
	}
	return w.found(ctx, e, commit, manifest)
}

// found takes a result that is there for the outcome. The commit is told first: else gc, which knows of it only what facts say,
// might remove it before ours does.
func (w *Workshop) found(ctx context.Context, e *Execution, commit storage.Commit, manifest storage.Manifest) (*Result, error) {
	noted, err := storage.Found(ctx, e.fenced, e.root, commit, e.attempt)
	if err != nil {
		return nil, events.Fail(events.FailureUnavailable, fmt.Errorf("take a result that is there: %w", err))
	}
	if !noted { // it is being removed, or another attempt found it too
		return w.committed(ctx, e)
	}
	return &Result{Commit: commit, Manifest: manifest}, nil
}

// raise counts a result that is there as one of the generation that the job asks for: somebody made it again without having
// heard of those that were lost before it.
func (w *Workshop) raise(ctx context.Context, e *Execution, commit storage.Commit) (*Result, error) {
	next := commit
	next.Generation = e.Job.Generation
	if _, _, err := storage.Recommit(ctx, e.fenced, e.root, commit, next); err != nil {
		return nil, events.Fail(events.FailureUnavailable, fmt.Errorf("count a result anew: %w", err))
	}
	return w.committed(ctx, e)
}

// Commit is the one point where the execution becomes done. If another attempt was first, ours is taken away and theirs is
// what is told.
func (a *Attempt) Commit(ctx context.Context, ours storage.Manifest) (_ *Result, err error) {
	ctx, span := telemetry.Start(ctx, "commit")
	defer span.End(&err)
	e, w := a.Execution, a.shop
	for {
		winner, won, err := w.putCommit(ctx, e, storage.Commit{Attempt: ours.Attempt})
		if err != nil {
			return nil, events.Fail(events.FailureUnavailable, err)
		}
		if won {
			return &Result{Commit: winner, Manifest: ours}, nil
		}
		theirs, err := w.committed(ctx, &e)
		if theirs == nil && err == nil {
			continue // what was first is gone, or cancels another job: ours takes its place
		}
		if theirs != nil || isCancelled(err) {
			w.discard(ctx, e, ours.Attempt, slices.Collect(maps.Keys(ours.Outputs))...)
		}
		return theirs, err
	}
}

// putCommit writes a commit where there is none, or over the one that is in the way. It fills in what all have in common.
func (w *Workshop) putCommit(ctx context.Context, e Execution, c storage.Commit) (storage.Commit, bool, error) {
	c.Execution, c.Generation, c.Job, c.Time = e.ID, e.generation, e.Job.ID, w.opts.Now()
	if e.replaced != nil {
		return storage.Recommit(ctx, e.fenced, e.root, *e.replaced, c)
	}
	return storage.PutCommit(ctx, e.fenced, e.root, c)
}

// discard removes an attempt that lost. What stays behind is seen by no reader, and is garbage for later.
func (w *Workshop) discard(ctx context.Context, e Execution, attempt string, outputs ...string) {
	if err := storage.Discard(ctx, e.fenced, e.place(attempt), outputs...); err != nil {
		e.Log.WarnContext(ctx, "a lost attempt is left in the store", "error", err)
	}
}

// Earlier is a committed result of the same pipeline and component as e, by the address of one of its artifacts, for e's job to take as
// its own outcome: see storage.Found. fits says whether it may. nil: it may not, it is no longer whole, or others made it.
func (w *Workshop) Earlier(ctx context.Context, e Execution, address string, fits func(Result) bool) (*Result, error) {
	place, ok := storage.ExecutionAt(address)
	if !ok || place.Root != e.root {
		return nil, nil
	}
	for {
		commit, manifest, err := storage.Committed(ctx, w.store, place.Root, place.Execution)
		switch {
		case errors.Is(err, storage.ErrNotFound), errors.Is(err, storage.ErrIncomplete):
			return nil, nil
		case err != nil:
			return nil, events.Fail(events.FailureUnavailable, fmt.Errorf("look up earlier execution %s: %w", place.Execution, err))
		}
		found := Result{Commit: commit, Manifest: manifest, Reused: true}
		if commit.Cancelled || commit.Retired || !fits(found) {
			return nil, nil
		}
		noted, err := storage.Found(ctx, e.fenced, place.Root, commit, e.attempt)
		if err != nil {
			return nil, events.Fail(events.FailureUnavailable, fmt.Errorf("take earlier execution %s: %w", place.Execution, err))
		}
		if noted {
			return &found, nil
		}
	}
}
