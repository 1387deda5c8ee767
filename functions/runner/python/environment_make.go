package python

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// MakeOptions say what to make, from what, and where. The zero value is what `stoker python setup`
// makes.
type MakeOptions struct {
	Kind Kind // default: CPU
	// Python that it is made with; default: the first on PATH for which there are wheels.
	Base     string
	Home     string    // default: Home()
	Force    bool      // make it again if it exists
	Pip      bool      // install with pip even if uv is on PATH
	Lock     []byte    // packages to install; default: those of the kind
	Progress io.Writer // gets lines for users; default: none
	// Returns the writer of the installer's output for a number of packages; default: Progress.
	Installing func(packages int) io.Writer
}

// Make makes an environment unless it exists: a venv with the packages of a lock, in a directory
// whose name is made from what determines its content. It takes minutes and some gigabytes. If
// several processes or goroutines make it at once, one does and the others wait. An incomplete
// environment is made anew.
func Make(ctx context.Context, opts MakeOptions) (Made, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return Made{}, err
	}
	from, err := findBase(ctx, opts.Base, opts.Kind.minors())
	if err != nil {
		return Made{}, fmt.Errorf("create a Python environment: %w", err)
	}
	made := Made{Kind: opts.Kind, Python: from.Version, Lock: digestOf(opts.Lock)}
	place := digestOf([]byte(from.Interpreter), []byte(from.Version), []byte(from.Prefix), []byte(from.System),
		[]byte(opts.Kind), opts.Lock)
	dir := filepath.Join(opts.Home, place[:16])
	return ensure(ctx, dir, opts.Force, opts.Progress, func() (Made, error) {
		fmt.Fprintf(opts.Progress, "creating a Python environment in %s with Python %s, once: this takes some gigabytes and some minutes\n",
			dir, from.Version)
		return made, fill(ctx, from, dir, opts)
	})
}

func (o MakeOptions) withDefaults() (MakeOptions, error) {
	o.Kind = cmp.Or(o.Kind, CPU)
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	var err error
	if o.Lock == nil {
		if err := o.Kind.runsHere(); err != nil {
			return o, err
		}
		if o.Lock, err = o.Kind.lock(); err != nil {
			return o, err
		}
	}
	o.Home, err = homeOr(o.Home)
	return o, err
}

// lockSuffix ends the name of the file that keeps others from making the same environment.
const lockSuffix = ".lock"

// lockPeriod is how often the lock is checked.
const lockPeriod = 200 * time.Millisecond

// ensure calls make to fill dir once, however many callers ask for it at the same time. If make
// fails, it removes the directory.
func ensure(ctx context.Context, dir string, force bool, progress io.Writer, make func() (Made, error)) (Made, error) {
	if m, err := readMade(dir); err == nil && !force {
		return m, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return Made{}, fmt.Errorf("create the folder of Python environments: %w", err)
	}
	lock := flock.New(dir + lockSuffix)
	if free, err := lock.TryLock(); err == nil && !free {
		fmt.Fprintf(progress, "waiting for another process that creates %s\n", dir)
	}
	if _, err := lock.TryLockContext(ctx, lockPeriod); err != nil {
		return Made{}, fmt.Errorf("wait for another process that creates Python environment %s: %w", dir, cmp.Or(context.Cause(ctx), err))
	}
	defer lock.Unlock() // the lock is released with the process at the latest
	if m, err := readMade(dir); err == nil && !force {
		return m, nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return Made{}, fmt.Errorf("remove an incomplete Python environment: %w", err)
	}
	made, err := make()
	made.Dir, made.Interpreter, made.Created = dir, interpreterIn(dir), time.Now()
	if err == nil {
		err = made.write()
	}
	if err != nil {
		return Made{}, errors.Join(fmt.Errorf("create Python environment %s: %w", dir, err), os.RemoveAll(dir))
	}
	return readMade(dir)
}

// Halves removes the directories in home that were left incomplete, and returns them. A directory
// that is being made now stays.
func Halves(home string) ([]string, error) {
	entries, err := os.ReadDir(home)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var removed []string
	for _, entry := range entries {
		dir := filepath.Join(home, entry.Name())
		if _, err := readMade(dir); !entry.IsDir() || !errors.Is(err, fs.ErrNotExist) || !ours(dir) {
			continue
		}
		lock := flock.New(dir + lockSuffix)
		if free, err := lock.TryLock(); err != nil || !free {
			continue
		}
		err := errors.Join(os.RemoveAll(dir), lock.Unlock())
		if err != nil {
			return removed, err
		}
		removed = append(removed, dir)
	}
	return removed, nil
}

// beginning is a file that marks a directory as made by Stoker from the start.
const beginning = "stoker.begun"

func ours(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, beginning))
	return err == nil
}

// digestOf returns the SHA-256 of texts, as a JSON array of them.
func digestOf(texts ...[]byte) string {
	text, _ := json.Marshal(texts) // bytes can always be encoded
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
