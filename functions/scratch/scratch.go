// Package scratch gives a process a folder for what may be lost, and takes away those that killed
// processes left behind.
//
// A process that is killed removes nothing. So each folder is locked by whoever works in it, and
// the operating system lets go of the lock when that process ends, however it ends: a folder that
// can be locked is abandoned. What is in a folder, its users know: functions/runner/process for the
// homes of modules, functions/execution for the workspaces of attempts. Read Open.
package scratch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

// prefix of a folder's name. Nothing that is named otherwise is touched.
const prefix = "stoker-scratch-"

// Folder is a folder of this process alone, until it is closed or the process ends.
type Folder struct {
	path string
	lock *flock.Flock
}

// Open makes a folder in parent, which must be there; "" is the system's temporary folder. First it
// removes the folders in parent whose processes have ended, and calls abandoned, if it isn't nil,
// with the path of each before that.
func Open(parent string, abandoned func(path string)) (*Folder, error) {
	if parent == "" {
		parent = os.TempDir()
	}
	parent, err := filepath.Abs(parent)
	if err != nil {
		return nil, fmt.Errorf("find a folder to work in: %w", err)
	}
	if err := sweep(parent, abandoned); err != nil {
		return nil, fmt.Errorf("look for abandoned folders: %w", err)
	}
	for {
		folder, err := open(parent)
		if err != nil {
			return nil, fmt.Errorf("make a folder to work in: %w", err)
		}
		if folder != nil {
			return folder, nil
		}
	}
}

// Path is absolute.
func (f *Folder) Path() string { return f.path }

// Close removes the folder with all that is in it.
func (f *Folder) Close() error {
	return errors.Join(os.RemoveAll(f.path), f.lock.Close())
}

// open makes a folder and locks it. It returns nil where another process, which swept just then,
// was faster: it took the folder for an abandoned one.
func open(parent string) (*Folder, error) {
	path, err := os.MkdirTemp(parent, prefix)
	if err != nil {
		return nil, err
	}
	lock, err := tryLock(path)
	if lock == nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil { // locked what was removed already
		return nil, errors.Join(unlessGone(err), lock.Close())
	}
	return &Folder{path: path, lock: lock}, nil
}

// sweep removes the abandoned folders. One of another user, or that can't be removed, stays: it is
// in nobody's way.
func sweep(parent string, abandoned func(path string)) error {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !entry.IsDir() || !strings.HasPrefix(entry.Name(), prefix) {
			continue
		}
		path := filepath.Join(parent, entry.Name())
		if lock, err := tryLock(path); err == nil && lock != nil {
			remove(path, abandoned)
			_ = lock.Close() // the folder is gone, and with it what the lock was for
		}
	}
	return nil
}

func remove(path string, abandoned func(path string)) {
	if abandoned != nil {
		abandoned(path)
	}
	_ = os.RemoveAll(path) // see sweep
}

// tryLock locks the folder itself: a file in it could be removed before the rest. It returns nil if
// another process has the lock, or the folder is gone.
func tryLock(path string) (*flock.Flock, error) {
	lock := flock.New(path, flock.SetFlag(os.O_RDONLY))
	got, err := lock.TryLock()
	if err != nil || !got {
		return nil, errors.Join(unlessGone(err), lock.Close())
	}
	return lock, nil
}

func unlessGone(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
