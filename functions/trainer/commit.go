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
	manifest storage.Manifest
	story    story
}

// committed finds the execution done already: a cache hit. nil means that there is work to do. A commit whose objects are
// gone is no hit: it is remembered in e, to be replaced.
func (t *Trainer) committed(ctx context.Context, e *execution) (*result, error) {
	commit, manifest, err := storage.Committed(ctx, t.store, e.root, e.id)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return nil, nil
	case errors.Is(err, storage.ErrIncomplete):
		t.opts.Logger.Warn("a committed execution has lost files; it is done again", "execution", e.id, "error", err)
		e.broken = &commit
		return nil, nil
	case err != nil:
		return nil, events.Fail(events.FailureUnavailable, fmt.Errorf("look up execution: %w", err))
	case commit.Cancelled:
		return nil, events.Fail(events.FailureCancelled, errors.New("this execution was cancelled"))
	}
	return recall(manifest)
}

// commit is the one point where the execution becomes done. If another attempt was first, ours is taken away and theirs is
// what is told.
func (t *Trainer) commit(ctx context.Context, e execution, ours storage.Manifest) (*result, error) {
	winner, won, err := t.putCommit(ctx, e, storage.Commit{Execution: e.id, Attempt: ours.Attempt, Time: t.opts.Now()})
	if err != nil {
		return nil, events.Fail(events.FailureUnavailable, err)
	}
	if won {
		return recall(ours)
	}
	t.discard(ctx, e, ours)
	if winner.Cancelled {
		return nil, events.Fail(events.FailureCancelled, errors.New("cancelled before its model was committed"))
	}
	_, theirs, err := storage.Committed(ctx, t.store, e.root, e.id)
	if err != nil {
		return nil, events.Fail(events.FailureUnavailable, fmt.Errorf("read the winning attempt %s: %w", winner.Attempt, err))
	}
	return recall(theirs)
}

// putCommit writes the commit where there is none, or over one whose objects are gone.
func (t *Trainer) putCommit(ctx context.Context, e execution, c storage.Commit) (storage.Commit, bool, error) {
	if e.broken != nil {
		return storage.Recommit(ctx, t.store, e.root, *e.broken, c)
	}
	return storage.PutCommit(ctx, t.store, e.root, c)
}

// discard removes an attempt that lost. What stays behind is seen by no reader, and is garbage for later.
func (t *Trainer) discard(ctx context.Context, e execution, lost storage.Manifest) {
	place := storage.Place{Root: e.root, Execution: e.id, Attempt: lost.Attempt}
	if err := storage.Discard(ctx, t.store, place, slices.Collect(maps.Keys(lost.Outputs))...); err != nil {
		t.opts.Logger.Warn("a lost attempt is left in the store", "attempt", lost.Attempt, "error", err)
	}
}

// recall reads what a manifest's attempt had to tell.
func recall(manifest storage.Manifest) (*result, error) {
	r := result{manifest: manifest}
	if err := json.Unmarshal(manifest.Result, &r.story); err != nil {
		return nil, inputFailure(fmt.Errorf("manifest of execution %s: result: %w", manifest.Execution, err))
	}
	return &r, nil
}
