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

// ErrSuperseded is returned by Save if the checkpoints of this attempt no longer count: a later
// attempt at its job saves its own, or another job has brought the same execution further.
var ErrSuperseded = errors.New("superseded by another attempt")

// Checkpoint is the progress of an execution, in files from which its module can resume.
type Checkpoint struct {
	Job     string `json:"job"`
	Attempt string `json:"attempt"`
	Try     int    `json:"try"`    // number of the attempt within its job: the highest counts
	Number  int    `json:"number"` // of the checkpoint within its attempt, from 1
	Step    int    `json:"step"`   // as the module reported it

	Files []CheckpointFile `json:"files"` // in path order
}

// CheckpointFile is one file of a checkpoint. A file that has not changed since an earlier
// checkpoint is stored with that checkpoint.
type CheckpointFile struct {
	File
	Attempt string `json:"attempt"` // and Number: the checkpoint that
	Number  int    `json:"number"`  // uploaded the file
}

// Checkpoints are the checkpoints of one execution, as one attempt at it sees them. Save writes the
// files first, each with its size and SHA-256; then the pointer, by compare-and-swap; then it
// removes older files. The pointer therefore never names an incomplete checkpoint. It names two
// checkpoints, so that there is an older one to fall back on.
//
// The methods must not be called concurrently.
type Checkpoints struct {
	store Store
	place Place
	by    Checkpoint // Job, Attempt and Try of this attempt; Number is that of its last checkpoint

	passed []Checkpoint // checkpoints that Load found without their files
}

// kept is how many checkpoints the pointer names.
const kept = 2

// OpenCheckpoints returns the checkpoints of the execution at place, for the attempt that place
// names; try is its number within the job. It reads nothing. An attempt may open its checkpoints
// once.
func OpenCheckpoints(store Store, place Place, job string, try int) *Checkpoints {
	return &Checkpoints{store: store, place: place, by: Checkpoint{Job: job, Attempt: place.Attempt, Try: try}}
}

// CheckpointsOf returns the checkpoints that the pointer of an execution names, newest first. It
// does not check that their files exist. It returns none if the pointer is missing or unreadable,
// because an attempt can't resume in either case.
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

// RemoveCheckpoints removes every checkpoint of an execution. It removes the pointer first, so that
// no pointer names removed files. Call it for an execution that is committed or abandoned.
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

// errUnknown marks a pointer that may have been written.
var errUnknown = errors.New("unknown whether the checkpoint was saved")

// Save makes the content of a directory the newest checkpoint. The directory must not change
// meanwhile. Save returns ErrSuperseded if the checkpoints of this attempt no longer count. After
// that and any other error it removes the uploaded files, as far as the store allows. Save may be
// called again with a later checkpoint after any error.
func (c *Checkpoints) Save(ctx context.Context, dir string, step int) (Checkpoint, error) {
	c.by.Number++ // never reused: the writes of an earlier call may still be in flight
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

// takeBack removes the uploaded files of a checkpoint that does not count because of err. It
// removes nothing if the pointer may name the checkpoint.
func (c *Checkpoints) takeBack(ctx context.Context, failed Checkpoint, err error) error {
	if errors.Is(err, errUnknown) {
		return err
	}
	if left := deleteFolder(ctx, c.store, c.place.checkpoint(failed.Attempt, failed.Number)); left != nil {
		err = fmt.Errorf("%w (its files remain in the store: %s)", err, left)
	}
	return err
}

// sweep removes the files that only the previous pointer named. Files that can't be removed now are
// removed with all other checkpoints, or by garbage collection.
func (c *Checkpoints) sweep(ctx context.Context, was, now pointer) {
	named := now.files(c.place)
	for ref := range was.files(c.place) {
		if !named[ref] {
			_ = c.store.Delete(ctx, ref)
		}
	}
}

// send uploads the files of a directory, except those that the store has already.
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

// unchanged returns the stored file, among those that p names, that equals a local file. It reads
// the local file only if the size matches.
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

// Loaded is the result of Load.
type Loaded struct {
	Checkpoint         // the zero value if there is no checkpoint
	Passed     []error // why newer checkpoints were passed over, newest first
}

// Found reports whether there was a checkpoint to resume from.
func (l Loaded) Found() bool { return l.Number > 0 }

// loadTries is how often Load starts over because the pointer changed while it was loading.
const loadTries = 5

// Load copies the newest complete checkpoint into a directory, which should be empty. Each file has
// the size and the SHA-256 that were saved. If a file of a checkpoint is gone or has changed, Load
// uses the checkpoint before it. It is no error if there is no checkpoint. ErrUnavailable and
// similar errors mean that it is unknown whether there is one.
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
			return loaded, nil // not removed by another attempt meanwhile: damaged
		}
		if err := emptied(dir); err != nil {
			return Loaded{}, fmt.Errorf("load checkpoint of execution %s: %w", c.place.Execution, err)
		}
	}
}

// newest tries the checkpoints that the pointer names, one after another.
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

// stage copies one checkpoint. After an error, it leaves nothing of it in dir.
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

// emptied removes the content of a directory.
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
