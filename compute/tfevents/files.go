package tfevents

import (
	"errors"
	"fmt"
	"path/filepath"
)

// begin is called with the number of steps taken before anything is logged.
func (t *Training) begin(done int64) error {
	if t.begun {
		return nil
	}
	t.begun = true
	t.state.Step = done
	found, err := t.restore(done)
	if err != nil {
		return fmt.Errorf("run log of step %d: %w", done, err)
	}
	if found {
		return nil
	}
	w, err := t.writer(".")
	if err == nil && t.o.Config != "" {
		err = w.Text(0, "config", t.o.Config)
	}
	if err == nil && t.o.Session.Values != nil {
		err = w.StartSession(t.o.Session)
	}
	return err
}

// writer returns the writer of a run. When a file has grown large it is ended and followed by
// another one, so that each is copied only once for checkpoints.
func (t *Training) writer(run string) (*Writer, error) {
	w := t.writers[run]
	if w != nil && w.size < largeFile {
		return w, nil
	}
	if w != nil {
		delete(t.writers, run)
		if err := w.Close(); err != nil {
			return nil, err
		}
	}
	// Nothing is void: the directory has the log of the steps before.
	from := max(t.state.Step, t.epochAt(t.state.Step)) + 1
	if t.state.Step == 0 {
		from = 0
	}
	w, err := Open(filepath.Join(t.o.Dir, run), Options{From: from, Now: t.o.Now, Host: t.o.Host, PID: t.o.PID})
	if err == nil {
		t.writers[run] = w
	}
	return w, err
}

// largeFile is in bytes. Files beyond a mebibyte are not copied for a checkpoint but linked, and
// must not change any more.
const largeFile = 512 << 10

// Close ends all files.
func (t *Training) Close() error {
	var all error
	for _, w := range t.writers {
		all = errors.Join(all, w.Close())
	}
	clear(t.writers)
	return all
}
