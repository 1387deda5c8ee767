package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// pointer is the content of checkpoint.json and its ETag, which is "" if the object does not exist.
type pointer struct {
	Execution   string       `json:"execution"`
	Checkpoints []Checkpoint `json:"checkpoints"` // newest first

	etag   string
	damage error // why the object can't be parsed
}

// readPointer reads the pointer. An object that can't be parsed names nothing, and can be replaced.
func (c *Checkpoints) readPointer(ctx context.Context) (pointer, error) {
	var p pointer
	obj, err := readJSON(ctx, c.store, c.place.pointer(), &p)
	if err == nil {
		err = p.check(c.place)
	}
	switch {
	case errors.Is(err, ErrNotFound):
		return pointer{}, nil
	case errors.Is(err, ErrIncomplete):
		return pointer{etag: obj.ETag, damage: err}, nil
	}
	p.etag = obj.ETag
	return p, err
}

// check returns an error for a pointer of another execution, or with parts that make no address.
func (p pointer) check(place Place) error {
	if executionHex(p.Execution) != executionHex(place.Execution) {
		return fmt.Errorf("checkpoints of execution %q: %w", p.Execution, ErrIncomplete)
	}
	for _, one := range p.Checkpoints {
		for _, f := range one.Files {
			if !isName(f.Attempt) || f.Number < 1 || badPath(f.Path) {
				return fmt.Errorf("checkpoint %d of attempt %q: file %q: %w", one.Number, one.Attempt, f.Path, ErrIncomplete)
			}
		}
	}
	return nil
}

func badPath(path string) bool {
	return badKey(path) != "" || !filepath.IsLocal(filepath.FromSlash(path)) || strings.HasSuffix(path, "/")
}

// files returns the addresses of all files that p names.
func (p pointer) files(place Place) map[Ref]bool {
	all := map[Ref]bool{}
	for _, one := range p.Checkpoints {
		for _, f := range one.Files {
			all[f.in(place)] = true
		}
	}
	return all
}

func (f CheckpointFile) in(place Place) Ref {
	return place.checkpoint(f.Attempt, f.Number).Join(f.Path)
}

// with returns the pointer that names next first.
func (p pointer) with(place Place, next Checkpoint) pointer {
	all := append([]Checkpoint{next}, p.Checkpoints...)
	return pointer{Execution: place.Execution, Checkpoints: all[:min(kept, len(all))]}
}

// refuses returns the reason why next may not replace the checkpoints that p names; nil if it may.
// Checkpoints that Load passed over because their files are gone do not prevent another job from
// saving.
func (c *Checkpoints) refuses(p pointer, next Checkpoint) error {
	if len(p.Checkpoints) == 0 {
		return nil
	}
	switch there := p.Checkpoints[0]; {
	case there.Job != next.Job && slices.ContainsFunc(c.passed, there.is):
		return nil
	case there.Job == next.Job && there.Try > next.Try:
		return fmt.Errorf("attempt %s, number %d at this job, has saved step %d: %w", there.Attempt, there.Try, there.Step, ErrSuperseded)
	case there.Job != next.Job && there.Step >= next.Step:
		return fmt.Errorf("job %s has saved step %d of the execution: %w", there.Job, there.Step, ErrSuperseded)
	}
	return nil
}

// swap replaces the pointer was by next, if it is still was. After a lost answer it reads the
// pointer to find out. It returns ErrSuperseded if another pointer is stored, and errUnknown if the
// outcome is unknown.
func (c *Checkpoints) swap(ctx context.Context, was, next pointer) error {
	data, err := json.Marshal(next)
	if err != nil {
		return err
	}
	cond := Condition{IfAbsent: was.etag == "", IfMatch: was.etag}
	_, err = c.store.PutIf(ctx, c.place.pointer(), data, cond)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", errUnknown, err)
	}
	if !errors.Is(err, ErrPrecondition) && !errors.Is(err, ErrUnavailable) {
		return err
	}
	there, readErr := c.readPointer(ctx)
	switch {
	case readErr != nil:
		return fmt.Errorf("%w: %w: %w", errUnknown, err, readErr)
	case len(there.Checkpoints) > 0 && there.Checkpoints[0].is(next.Checkpoints[0]):
		return nil
	case errors.Is(err, ErrPrecondition):
		return fmt.Errorf("%w: %w", ErrSuperseded, err)
	}
	// Apparently not written; but the write may still be in flight.
	return fmt.Errorf("%w: %w", errUnknown, err)
}

func (one Checkpoint) is(other Checkpoint) bool {
	return one.Attempt == other.Attempt && one.Number == other.Number
}

// same returns the file of equal content that p names already.
func (p pointer) same(f File) (CheckpointFile, bool) {
	for _, one := range p.Checkpoints {
		at := slices.IndexFunc(one.Files, func(old CheckpointFile) bool {
			return old.Path == f.Path && old.Size == f.Size && old.SHA256 == f.SHA256
		})
		if at >= 0 {
			return one.Files[at], true
		}
	}
	return CheckpointFile{}, false
}

// maybeSame reports whether p names a file of that path and size.
func (p pointer) maybeSame(path string, size int64) bool {
	for _, one := range p.Checkpoints {
		for _, f := range one.Files {
			if f.Path == path && f.Size == size {
				return true
			}
		}
	}
	return false
}
