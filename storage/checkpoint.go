package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
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
