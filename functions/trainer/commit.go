package trainer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/storage"
)

// result is a committed execution: its artifacts and what was told of it.
type result struct {
	commit   storage.Commit
	manifest storage.Manifest
	story    story
}

// committed finds the execution done already: a cache hit. nil means that there is work to do. A commit whose objects are
// gone is no hit, nor is one that cancels another job: it is remembered in e, to be replaced.
func (t *Trainer) committed(ctx context.Context, e *execution) (*result, error) {
	commit, manifest, err := storage.Committed(ctx, t.store, e.root, e.id)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		e.replaced = nil
		return nil, nil
	case errors.Is(err, storage.ErrIncomplete):
		e.log.Warn("a committed execution has lost files; it is done again", "error", err)
		e.replaces(commit, commit.Generation+1)
		return nil, nil
	case err != nil:
		return nil, events.Fail(events.FailureUnavailable, fmt.Errorf("look up execution: %w", err))
	case commit.Cancelled && commit.Job == e.job.ID:
		return nil, cancelled(errors.New("cancelled before its model was committed"))
	case commit.Cancelled:
		e.replaces(commit, commit.Generation)
		return nil, nil
	case commit.Generation < e.job.Generation:
		return t.raise(ctx, e, commit)
	}
	return t.found(ctx, e, commit, manifest)
}

// found takes a model that is there for the outcome. The commit is told first: else gc, which knows of a model only what facts say of
// it, might remove it before ours does.
func (t *Trainer) found(ctx context.Context, e *execution, commit storage.Commit, manifest storage.Manifest) (*result, error) {
	noted, err := storage.Found(ctx, e.fenced, e.root, commit, e.attempt)
	if err != nil {
		return nil, events.Fail(events.FailureUnavailable, fmt.Errorf("take a model that is there: %w", err))
	}
	if !noted { // it is being removed, or another attempt found it too
		return t.committed(ctx, e)
	}
	return recall(commit, manifest)
}

// raise counts a model that is there as one of the generation that the job asks for: somebody made it again without having
// heard of the models that were lost before it.
func (t *Trainer) raise(ctx context.Context, e *execution, commit storage.Commit) (*result, error) {
	next := commit
	next.Generation = e.job.Generation
	if _, _, err := storage.Recommit(ctx, e.fenced, e.root, commit, next); err != nil {
		return nil, events.Fail(events.FailureUnavailable, fmt.Errorf("count a model anew: %w", err))
	}
	return t.committed(ctx, e)
}

// commit is the one point where the execution becomes done. If another attempt was first, ours is taken away and theirs is
// what is told.
func (t *Trainer) commit(ctx context.Context, e execution, ours storage.Manifest) (*result, error) {
	for {
		winner, won, err := t.putCommit(ctx, e, storage.Commit{Attempt: ours.Attempt})
		if err != nil {
			return nil, events.Fail(events.FailureUnavailable, err)
		}
		if won {
			return recall(winner, ours)
		}
		theirs, err := t.committed(ctx, &e)
		if theirs == nil && err == nil {
			continue // what was first is gone, or cancels another job: ours takes its place
		}
		if theirs != nil || isCancelled(err) {
			t.discard(ctx, e, ours.Attempt, slices.Collect(maps.Keys(ours.Outputs))...)
		}
		return theirs, err
	}
}

// putCommit writes a commit where there is none, or over the one that is in the way. It fills in what all have in common.
func (t *Trainer) putCommit(ctx context.Context, e execution, c storage.Commit) (storage.Commit, bool, error) {
	c.Execution, c.Generation, c.Job, c.Time = e.id, e.generation, e.job.ID, t.opts.Now()
	if e.replaced != nil {
		return storage.Recommit(ctx, e.fenced, e.root, *e.replaced, c)
	}
	return storage.PutCommit(ctx, e.fenced, e.root, c)
}

// discard removes an attempt that lost. What stays behind is seen by no reader, and is garbage for later.
func (t *Trainer) discard(ctx context.Context, e execution, attempt string, outputs ...string) {
	if err := storage.Discard(ctx, e.fenced, e.place(attempt), outputs...); err != nil {
		e.log.Warn("a lost attempt is left in the store", "error", err)
	}
}

// recall reads what a manifest's attempt had to tell.
func recall(commit storage.Commit, manifest storage.Manifest) (*result, error) {
	r := result{commit: commit, manifest: manifest}
	if err := json.Unmarshal(manifest.Result, &r.story); err != nil {
		return nil, inputFailure(fmt.Errorf("manifest of execution %s: result: %w", manifest.Execution, err))
	}
	return &r, nil
}
