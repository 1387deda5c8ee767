// Package scratch gives a process a directory for files that may be lost, and removes the
// directories that killed processes left behind.
//
// A process that is killed removes nothing. So each directory is locked by the process that uses
// it, and the operating system releases the lock when that process ends, however it ends: a
// directory that can be locked is abandoned. The users of a directory define its content:
// functions/runner/process for the homes of modules, functions/execution for the workspaces of
// attempts. Read Open.
package scratch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

// prefix of a directory's name. Directories with other names are never touched.
const prefix = "stoker-scratch-"

// Folder is a directory that only this process uses, until it is closed or the process ends.
type Folder struct {
	path string
	lock *flock.Flock
}

// Open makes a directory in parent, which must exist; "" is the system's temporary directory. First
// it removes the directories in parent whose processes have ended, and before that calls abandoned,
// if it isn't nil, with the path of each.
func Open(parent string, abandoned func(path string)) (*Folder, error) {
	if parent == "" {
		parent = os.TempDir()
	}
	parent, err := filepath.Abs(parent)
	if err != nil {
		return nil, fmt.Errorf("find a working directory: %w", err)
	}
	if err := sweep(parent, abandoned); err != nil {
		return nil, fmt.Errorf("find abandoned working directories: %w", err)
	}
	for {
		folder, err := open(parent)
		if err != nil {
			return nil, fmt.Errorf("create a working directory: %w", err)
		}
		if folder != nil {
			return folder, nil
		}
	}
}

// Path returns the absolute path.
func (f *Folder) Path() string { return f.path }

// Close removes the directory with everything in it.
func (f *Folder) Close() error {
	return errors.Join(os.RemoveAll(f.path), f.lock.Close())
}

// open makes a directory and locks it. It returns nil if another process that swept at that moment
// was faster, and took the directory for an abandoned one.
func open(parent string) (*Folder, error) {
	path, err := os.MkdirTemp(parent, prefix)
	if err != nil {
		return nil, err
	}
	lock, err := tryLock(path)
	if lock == nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil { // locked after it was removed
		return nil, errors.Join(unlessGone(err), lock.Close())
	}
	return &Folder{path: path, lock: lock}, nil
}

// sweep removes the abandoned directories. One of another user, or one that can't be removed,
// stays: it does no harm.
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
			_ = lock.Close() // the directory is gone, and so is the purpose of the lock
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

// tryLock locks the directory itself: a file in it could be removed before the rest. It returns nil
// if another process has the lock, or if the directory is gone.
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
