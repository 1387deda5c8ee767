package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// errUnknown marks a pointer that was perhaps written.
var errUnknown = errors.New("nobody knows whether it was saved")

// Save makes what is in a folder the newest checkpoint. The folder must not change meanwhile. ErrSuperseded if this
// attempt's checkpoints don't count any more; then, and after other errors, what was sent is removed again, as far as that can
// be done. Save may be called again with a later checkpoint after any error.
func (c *Checkpoints) Save(ctx context.Context, dir string, step int) (Checkpoint, error) {
	c.by.Number++ // never twice: what an earlier call has sent may still be on its way
	next := c.by
	next.Step = step
	if err := c.save(ctx, dir, &next); err != nil {
		return Checkpoint{}, fmt.Errorf("save checkpoint %d, of step %d: %w", next.Number, step, err)
	}
	return next, nil
}

func (c *Checkpoints) save(ctx context.Context, dir string, next *Checkpoint) error {
	if err := c.place.validateAttempt(); err != nil {
		return err
	}
	was, err := c.readPointer(ctx)
	if err != nil {
		return err
	}
	if err := c.refuses(was, *next); err != nil {
		return err
	}
	if next.Files, err = c.send(ctx, dir, was, next.Number); err != nil {
		return c.takeBack(ctx, *next, err)
	}
	now := was.with(c.place, *next)
	if err = c.swap(ctx, was, now); err != nil {
		return c.takeBack(ctx, *next, err)
	}
	c.sweep(ctx, was, now)
	return nil
}

// takeBack removes what a checkpoint has sent that does not count, because of err. Where the pointer may name it, all stays.
func (c *Checkpoints) takeBack(ctx context.Context, failed Checkpoint, err error) error {
	if errors.Is(err, errUnknown) {
		return err
	}
	if left := deleteFolder(ctx, c.store, c.place.checkpoint(failed.Attempt, failed.Number)); left != nil {
		err = fmt.Errorf("%w (and its files are left behind: %s)", err, left)
	}
	return err
}

// sweep removes what only the pointer before named. What can't be removed goes with all other checkpoints, or as garbage.
func (c *Checkpoints) sweep(ctx context.Context, was, now pointer) {
	named := now.files(c.place)
	for ref := range was.files(c.place) {
		if !named[ref] {
			_ = c.store.Delete(ctx, ref)
		}
	}
}

// send puts the files of a folder into the store, but for those that are there already.
func (c *Checkpoints) send(ctx context.Context, dir string, was pointer, number int) ([]CheckpointFile, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	paths, err := filesIn(root)
	if err != nil {
		return nil, err
	}
	var files []CheckpointFile
	var changed []string
	for _, path := range paths {
		old, ok, err := was.unchanged(root, path)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", path, err)
		case ok:
			files = append(files, old)
		default:
			changed = append(changed, path)
		}
	}
	s := sender{store: c.store, root: root, folder: c.place.checkpoint(c.by.Attempt, number)}
	if err := s.send(ctx, changed); err != nil {
		return nil, err
	}
	for _, f := range s.files {
		files = append(files, CheckpointFile{File: f, Attempt: c.by.Attempt, Number: number})
	}
	slices.SortFunc(files, func(a, b CheckpointFile) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}

// unchanged finds a local file among those that p names. Only one of the right size is read to know.
func (p pointer) unchanged(root *os.Root, path string) (CheckpointFile, bool, error) {
	file, err := root.Open(path)
	if err != nil {
		return CheckpointFile{}, false, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !p.maybeSame(path, info.Size()) {
		return CheckpointFile{}, false, err
	}
	sum := newHashed(file)
	if _, err := io.Copy(io.Discard, sum); err != nil {
		return CheckpointFile{}, false, err
	}
	old, ok := p.same(File{Path: path, Size: sum.size, SHA256: sum.sum()})
	return old, ok, nil
}
