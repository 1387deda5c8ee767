package storage

import (
	"context"
	"errors"
	"fmt"
)

// ErrSuperseded is what Save returns to an attempt whose checkpoints don't count any more: a later attempt at its job saves
// its own, or another job has brought the same execution further.
var ErrSuperseded = errors.New("superseded by another attempt")

// Checkpoint is how far an execution had come, in files that its module can go on from.
type Checkpoint struct {
	Job     string `json:"job"`
	Attempt string `json:"attempt"`
	Try     int    `json:"try"`    // number of the attempt among those at its job: the later one counts
	Number  int    `json:"number"` // of the attempt's checkpoints, from 1
	Step    int    `json:"step"`   // as the module reported it

	Files []CheckpointFile `json:"files"` // in path order
}

// CheckpointFile is one file of a checkpoint. One that has not changed since an earlier checkpoint lies where that put it.
type CheckpointFile struct {
	File
	Attempt string `json:"attempt"` // and
	Number  int    `json:"number"`  // of the checkpoint that sent it
}

// Checkpoints are those of one execution, as one attempt at it sees them. The order of writing is: the files, each with its
// size and SHA-256; then the pointer, by compare-and-swap; then older files are removed. So the pointer only ever names what
// is whole. It names two checkpoints, so that there is one to fall back on.
//
// Methods are called by one goroutine at a time.
type Checkpoints struct {
	store Store
	place Place
	by    Checkpoint // Job, Attempt and Try of whoever saves; Number is that of the last one

	passed []Checkpoint // those that Load found without their files
}

// kept is how many checkpoints the pointer names.
const kept = 2

// OpenCheckpoints returns the checkpoints of the execution at place, for the attempt that place names, the try-th at its job.
// It reads nothing. An attempt may open them once.
func OpenCheckpoints(store Store, place Place, job string, try int) *Checkpoints {
	return &Checkpoints{store: store, place: place, by: Checkpoint{Job: job, Attempt: place.Attempt, Try: try}}
}

// CheckpointsOf reads which checkpoints of an execution its pointer names, newest first; whether their files are there is not
// checked. None if there is no pointer, or one that can't be read: an attempt can't go on from those either.
func CheckpointsOf(ctx context.Context, store Store, root Ref, execution string) ([]Checkpoint, error) {
	place := Place{Root: root, Execution: execution}
	if err := place.Validate(); err != nil {
		return nil, fmt.Errorf("read checkpoints: %w", err)
	}
	p, err := OpenCheckpoints(store, place, "", 0).readPointer(ctx)
	if err != nil {
		return nil, fmt.Errorf("read checkpoints of %s: %w", execution, err)
	}
	return p.Checkpoints, nil
}

// RemoveCheckpoints removes every checkpoint of an execution: the pointer first, so that none ever names what is gone. It is
// for an execution that is committed, or given up.
func RemoveCheckpoints(ctx context.Context, store Store, place Place) error {
	if err := place.Validate(); err != nil {
		return fmt.Errorf("remove checkpoints: %w", err)
	}
	if err := store.Delete(ctx, place.pointer()); err != nil {
		return fmt.Errorf("remove checkpoints: %w", err)
	}
	if err := deleteFolder(ctx, store, place.checkpoints()); err != nil {
		return fmt.Errorf("remove checkpoints: %w", err)
	}
	return nil
}
