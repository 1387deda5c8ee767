package tfevents

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// The files that a Training keeps with the checkpoints: copies of its event files, by their paths
// below the log directory, and the file of states, in which the last few checkpoints record the
// size of each file.
const (
	statesFile = "states.json"
	fewStates  = 8   // states that are kept, whatever files they name
	maxStates  = 256 // states that are kept if they name only files of the newest one
)

// Checkpoint keeps what was logged up to a step, for a checkpoint of that step. It must be called
// before any of the checkpoint itself exists, so that a program that copies checkpoints during the
// training has the log of each. It may be called for a step again, when more was logged for it.
func (t *Training) Checkpoint(step int64) error {
	if err := t.begin(step); err != nil || t.o.Keep == "" {
		return err
	}
	t.state.Step, t.state.Files = step, map[string]int64{}
	err := t.eachFile(t.o.Dir, func(path string, size int64) error {
		t.state.Files[path] = size
		return t.keep(path, size)
	})
	if err == nil {
		err = t.writeStates()
	}
	if err == nil {
		err = t.prune()
	}
	if err != nil {
		return fmt.Errorf("keep run log of step %d: %w", step, err)
	}
	return nil
}

// eachFile calls do with every event file of the training's runs below a directory.
func (t *Training) eachFile(dir string, do func(path string, size int64) error) error {
	for _, w := range t.writers {
		if err := w.Flush(); err != nil {
			return err
		}
	}
	for _, run := range runs {
		entries, err := os.ReadDir(filepath.Join(dir, run))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil || !info.Mode().IsRegular() || !IsEventFile(e.Name()) {
				continue
			}
			if err := do(filepath.Join(run, e.Name()), info.Size()); err != nil {
				return err
			}
		}
	}
	return nil
}

// keep copies a file unless there is a copy of that size: event files only grow.
func (t *Training) keep(path string, size int64) error {
	to := filepath.Join(t.o.Keep, path)
	if info, err := os.Stat(to); err == nil && info.Size() == size {
		return nil
	}
	return copyPart(filepath.Join(t.o.Dir, path), to, size)
}

// copyPart copies the first bytes of a file through a temporary one. It replaces an existing copy
// without changing it, because there may be links to it.
func copyPart(from, to string, size int64) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return replace(to, func(out io.Writer) error {
		_, err := io.CopyN(out, in, size)
		return err
	})
}

// replace writes a file completely or not at all.
func replace(path string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	err = errors.Join(write(f), f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// writeStates adds the state to the kept ones. A copy of the directory that is made during the
// training may have a checkpoint and a much later file of states: the checkpoint's state is still
// in it if the copy took less than maxStates checkpoints.
func (t *Training) writeStates() error {
	t.kept = slices.DeleteFunc(t.kept, func(s state) bool { return s.Step >= t.state.Step })
	t.kept = append(t.kept, t.state)
	t.kept = t.kept[max(0, len(t.kept)-maxStates):]
	last := len(t.kept) - fewStates
	kept := t.kept[:0]
	for i, s := range t.kept {
		if i >= last || namesOnly(s, t.state) {
			kept = append(kept, s)
		}
	}
	t.kept = kept
	return replace(filepath.Join(t.o.Keep, statesFile), func(out io.Writer) error { return json.NewEncoder(out).Encode(t.kept) })
}

// namesOnly reports whether all files of a state are files of another one.
func namesOnly(s, other state) bool {
	for path := range s.Files {
		if _, ok := other.Files[path]; !ok {
			return false
		}
	}
	return true
}

// restore restores the log as it was at the checkpoint of a step: later entries are removed. If
// nothing was kept for that step, the log is as it was at the one before, and has a gap; if there
// is none, or the training is at its beginning, it is empty.
func (t *Training) restore(step int64) (found bool, err error) {
	if err := t.eachFile(t.o.Dir, func(path string, _ int64) error { return os.Remove(filepath.Join(t.o.Dir, path)) }); err != nil {
		return false, err
	}
	if t.o.Keep == "" {
		return false, nil
	}
	if at, ok := t.stateOf(step); ok && step > 0 {
		t.state, found = at, true
		t.state.Step = step
	}
	for path, size := range t.state.Files {
		if err := copyPart(filepath.Join(t.o.Keep, path), filepath.Join(t.o.Dir, path), size); err != nil {
			return false, err
		}
	}
	for _, run := range runs {
		if err := t.merge(run); err != nil {
			return false, err
		}
	}
	return found, nil
}

// prune removes files from the Keep directory that no state names.
func (t *Training) prune() error {
	return t.eachFile(t.o.Keep, func(path string, _ int64) error {
		if slices.ContainsFunc(t.kept, func(s state) bool { _, named := s.Files[path]; return named }) {
			return nil
		}
		return os.Remove(filepath.Join(t.o.Keep, path))
	})
}

// stateOf returns the complete state of a step, or else of the last one before it. An unreadable
// state counts as missing.
func (t *Training) stateOf(step int64) (state, bool) {
	text, err := os.ReadFile(filepath.Join(t.o.Keep, statesFile))
	if err != nil || json.Unmarshal(text, &t.kept) != nil {
		return state{}, false
	}
	for _, s := range slices.Backward(t.kept) {
		if s.Step <= step && t.isWhole(s) {
			return s, true
		}
	}
	return state{}, false
}

// isWhole reports whether all files of a state exist.
func (t *Training) isWhole(s state) bool {
	for path, size := range s.Files {
		if !filepath.IsLocal(path) {
			return false
		}
		if info, err := os.Stat(filepath.Join(t.o.Keep, path)); err != nil || info.Size() < size {
			return false
		}
	}
	return true
}

// state is what a Training remembers between steps.
type state struct {
	Step  int64            `json:"step"`
	Files map[string]int64 `json:"files"` // size of each event file by path, at a checkpoint

	Batch mean    `json:"batch"` // losses since the last point
	Epoch mean    `json:"epoch"` // losses of the epoch
	Rate  float64 `json:"rate"`  // the last logged one
	Rated bool    `json:"rated"` // whether one was logged

	Validated int64 `json:"validated,omitempty"` // the last step that was logged by Validated
}

// mean is the mean of the added numbers.
type mean struct {
	Sum   float64 `json:"sum"`
	Count int64   `json:"count"`
}

func (m *mean) add(x float64) { m.Sum, m.Count = m.Sum+x, m.Count+1 }

// take returns the mean so far, and starts again.
func (m *mean) take() float64 {
	x := m.Sum / float64(m.Count)
	*m = mean{}
	return x
}
