package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// ErrInUse says that another process runs a stack on the data folder.
var ErrInUse = errors.New("another stoker runs on this data folder")

// lock keeps a second stack off the folder: two servers on one file store destroy it. The operating system lets go of it
// when the process ends, however it ends.
func lock(dataDir string) (*flock.Flock, error) {
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return nil, fmt.Errorf("make data folder: %w", err)
	}
	l := flock.New(filepath.Join(dataDir, "lock"))
	got, err := l.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", l.Path(), err)
	}
	if !got {
		return nil, fmt.Errorf("%s: %w", dataDir, ErrInUse)
	}
	return l, nil
}
