package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Loaded is what Load found.
type Loaded struct {
	Checkpoint         // the zero value: there is none to go on from
	Passed     []error // why newer ones were passed over, newest first
}

// Found says whether there was a checkpoint to go on from.
func (l Loaded) Found() bool { return l.Number > 0 }

// loadTries is how often Load begins again because the pointer moves on under it.
const loadTries = 5

// Load copies the newest whole checkpoint into a folder, which should be empty. Each file has the size and the SHA-256 that
// were saved; a checkpoint with a file that is gone or is not that any more is passed over for the one before it. That there
// is none is no error: ErrUnavailable and the like mean that nobody knows.
func (c *Checkpoints) Load(ctx context.Context, dir string) (Loaded, error) {
	var loaded Loaded
	for try := 1; ; try++ {
		p, err := c.readPointer(ctx)
		if err == nil {
			loaded, err = c.newest(ctx, p, dir)
		}
		if err != nil {
			return Loaded{}, fmt.Errorf("load checkpoint of execution %s: %w", c.place.Execution, err)
		}
		if len(loaded.Passed) == 0 || try == loadTries {
			return loaded, nil
		}
		if again, err := c.readPointer(ctx); err == nil && again.etag == p.etag {
			return loaded, nil // not taken away under our hands: damaged
		}
		if err := emptied(dir); err != nil {
			return Loaded{}, fmt.Errorf("load checkpoint of execution %s: %w", c.place.Execution, err)
		}
	}
}

// newest tries what the pointer names, one after another.
func (c *Checkpoints) newest(ctx context.Context, p pointer, dir string) (loaded Loaded, err error) {
	if p.damage != nil {
		loaded.Passed = append(loaded.Passed, p.damage)
	}
	for _, one := range p.Checkpoints {
		err := c.stage(ctx, one, dir)
		switch {
		case err == nil:
			loaded.Checkpoint = one
			return loaded, nil
		case errors.Is(err, ErrNotFound), errors.Is(err, ErrChanged), errors.Is(err, ErrIncomplete):
			loaded.Passed = append(loaded.Passed, fmt.Errorf("checkpoint of step %d: %w", one.Step, err))
			c.passed = append(c.passed, one)
		default:
			return loaded, err
		}
	}
	return loaded, nil
}

// stage copies one checkpoint. After an error, nothing of it is left.
func (c *Checkpoints) stage(ctx context.Context, one Checkpoint, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	s := stager{store: c.store, root: root, address: func(i int) Ref { return one.Files[i].in(c.place) }}
	for _, f := range one.Files {
		s.wanted = append(s.wanted, f.File)
	}
	if err := s.all(ctx); err != nil {
		return errors.Join(err, s.remove())
	}
	return nil
}

// emptied removes what is in a folder.
func emptied(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	for _, entry := range entries {
		err = errors.Join(err, root.RemoveAll(entry.Name()))
	}
	return err
}
