package execution

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs/result"
	"github.com/stoker-ml/stoker/functions/telemetry"
	"github.com/stoker-ml/stoker/storage"
)

// Committed is an execution that is done: its artifacts, and its result in the manifest.
type Committed struct {
	Commit   storage.Commit
	Manifest storage.Manifest
	// The result is that of an earlier execution, which the job uses instead of one of its own: see
	// Reuser.
	Reused bool
}

// committed finds out whether the execution is done already: a cache hit. It returns nil if there
// is work to do. A commit whose objects are gone, or that cancels another job, is no hit: e
// remembers it as the one to replace.
func (x *Executor) committed(ctx context.Context, e *Execution) (*Committed, error) {
	commit, manifest, err := storage.Committed(ctx, x.store, e.root, e.ID)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		e.replaced = nil
		return nil, nil
	case errors.Is(err, storage.ErrIncomplete):
		e.Log.WarnContext(ctx, "committed execution has lost files; repeating it", "error", err)
		e.replaces(commit, commit.Generation+1)
		return nil, nil
	case err != nil:
		return nil, events.Fail(events.FailureUnavailable, fmt.Errorf("look up execution: %w", err))
	case commit.Cancelled && commit.Job == e.Job.ID:
		return nil, cancelled(errors.New("cancelled before its result was committed"))
	case commit.Cancelled:
		e.replaces(commit, commit.Generation)
		return nil, nil
	case commit.Generation < e.Job.Generation:
		return x.raise(ctx, e, commit)
	}
	return x.found(ctx, e, commit, manifest)
}

// found uses a committed result as the job's own. It marks the commit first: otherwise gc, which
// knows the commit only by the events that were published, might remove it before our event is
// published.
func (x *Executor) found(ctx context.Context, e *Execution, commit storage.Commit, manifest storage.Manifest) (*Committed, error) {
	noted, err := storage.Found(ctx, e.fenced, e.root, commit, e.attempt)
	if err != nil {
		return nil, events.Fail(events.FailureUnavailable, fmt.Errorf("reuse an existing result: %w", err))
	}
	if !noted { // the commit is being removed, or another attempt found it too
		return x.committed(ctx, e)
	}
	return &Committed{Commit: commit, Manifest: manifest}, nil
}

// raise gives a result that exists the generation that the job asks for: another job made it again,
// without knowing of the results that were lost before.
func (x *Executor) raise(ctx context.Context, e *Execution, commit storage.Commit) (*Committed, error) {
	next := commit
	next.Generation = e.Job.Generation
	if _, _, err := storage.Recommit(ctx, e.fenced, e.root, commit, next); err != nil {
		return nil, events.Fail(events.FailureUnavailable, fmt.Errorf("raise the generation of a result: %w", err))
	}
	return x.committed(ctx, e)
}

// commit is the one point where the execution becomes done. If another attempt was first, its
// result is the job's, and ours is removed.
func (a *Attempt) commit(ctx context.Context, ours storage.Manifest) (_ *Committed, err error) {
	ctx, span := telemetry.Start(ctx, "commit")
	defer span.End(&err)
	e, x := a.Execution, a.executor
	for {
		winner, won, err := x.putCommit(ctx, e, storage.Commit{Attempt: ours.Attempt})
		if err != nil {
			return nil, events.Fail(events.FailureUnavailable, err)
		}
		if won {
			return &Committed{Commit: winner, Manifest: ours}, nil
		}
		theirs, err := x.committed(ctx, &e)
		if theirs == nil && err == nil {
			continue // the first commit is gone or cancels another job: ours replaces it
		}
		if theirs != nil || isCancelled(err) {
			x.discard(ctx, e, ours.Attempt, slices.Collect(maps.Keys(ours.Outputs))...)
		}
		return theirs, err
	}
}

// putCommit writes a commit if there is none, or over the one to replace. It fills in the fields
// that all commits have.
func (x *Executor) putCommit(ctx context.Context, e Execution, c storage.Commit) (storage.Commit, bool, error) {
	c.Execution, c.Generation, c.Job, c.Time = e.ID, e.generation, e.Job.ID, x.opts.Now()
	if e.replaced != nil {
		return storage.Recommit(ctx, e.fenced, e.root, *e.replaced, c)
	}
	return storage.PutCommit(ctx, e.fenced, e.root, c)
}

// discard removes the objects of an attempt that lost. No reader sees those that can't be removed;
// they are left to garbage collection.
func (x *Executor) discard(ctx context.Context, e Execution, attempt string, outputs ...string) {
	if err := storage.Discard(ctx, e.fenced, e.place(attempt), outputs...); err != nil {
		e.Log.WarnContext(ctx, "attempt without a commit not removed from the store", "error", err)
	}
}

// earlier uses a committed result of the same pipeline and component as the job's own, if the
// component allows that: see storage.Found. It returns nil if the job is to have a result of its
// own, or if the earlier result is no longer whole or was made by others.
func (a *Attempt) earlier(ctx context.Context, c Component) (*Committed, error) {
	reuser, can := c.(Reuser)
	if !can {
		return nil, nil
	}
	e, x := a.Execution, a.executor
	place, ours := storage.ExecutionAt(reuser.Earlier(e))
	if !ours || place.Root != e.root {
		return nil, nil
	}
	for {
		commit, manifest, err := storage.Committed(ctx, x.store, place.Root, place.Execution)
		switch {
		case errors.Is(err, storage.ErrNotFound), errors.Is(err, storage.ErrIncomplete):
			return nil, nil
		case err != nil:
			return nil, events.Fail(events.FailureUnavailable, fmt.Errorf("look up earlier execution %s: %w", place.Execution, err))
		}
		made, unreadable := result.Of(manifest)
		if commit.Cancelled || commit.Retired || unreadable != nil {
			return nil, nil
		}
		if reusable, err := reuser.Reusable(ctx, a, made); err != nil || !reusable {
			return nil, err
		}
		marked, err := storage.Found(ctx, e.fenced, place.Root, commit, e.attempt)
		if err != nil {
			return nil, events.Fail(events.FailureUnavailable, fmt.Errorf("reuse earlier execution %s: %w", place.Execution, err))
		}
		if marked {
			return &Committed{Commit: commit, Manifest: manifest, Reused: true}, nil
		}
	}
}

// check has the component check the outputs, then refuses outputs that can't be published or
// announced, because after the commit it would be too late.
func (a *Attempt) check(ctx context.Context, work Work) (result.Result, error) {
	made, err := work.Check(ctx)
	if err != nil {
		return made, err
	}
	if err := checkFiles(a.Workspace.Out()); err != nil {
		return made, CheckFailure(err)
	}
	return made, ValidateResult(made)
}

// plainPath matches the file names that every object store and every reader of events accepts.
var plainPath = regexp.MustCompile(`^[^\x00-\x1f\x7f]+$`)

// checkFiles refuses files that an object store can't hold: links, pipes, and names with control
// characters.
func checkFiles(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if !plainPath.MatchString(name) {
			return fmt.Errorf("%q: file names with control characters can't be published", name)
		}
		if !entry.Type().IsRegular() {
			return fmt.Errorf("%s: not a regular file, which can't be published", name)
		}
		return nil
	})
}

// ValidateResult refuses a result that is too large for an event.
func ValidateResult(made result.Result) error {
	if err := made.CheckSize(); err != nil {
		return CheckFailure(err)
	}
	return nil
}

// Without has publish leave out an output that the attempt doesn't have.
func (a *Attempt) Without(key string) {
	a.Execution.Outputs = maps.Clone(a.Execution.Outputs)
	delete(a.Execution.Outputs, key)
}

// publish uploads the outputs and then the manifest, which holds the result. No reader uses them
// before the commit.
func (a *Attempt) publish(ctx context.Context, made result.Result) (_ storage.Manifest, err error) {
	ctx, span := telemetry.Start(ctx, "publish")
	defer span.End(&err)
	a.Report(events.Progress{Phase: "publishing"})
	made.Finished, made.Environment = a.executor.opts.Now(), a.environment()
	text, err := json.Marshal(made)
	if err != nil {
		return storage.Manifest{}, CheckFailure(fmt.Errorf("result of the module: %w", err))
	}
	outputs := map[string]storage.Source{}
	for key, kind := range a.Execution.Outputs {
		outputs[key] = storage.Source{Type: kind, Dir: a.Workspace.Out(key)}
	}
	manifest, err := storage.Publish(ctx, a.Execution.fenced, storage.Publication{
		Root: a.Execution.root, Execution: a.Execution.ID, Attempt: a.Task.Attempt.ID, Result: a.resultAtAddress(text), Outputs: outputs,
	})
	if err != nil {
		return storage.Manifest{}, publishFailure(err)
	}
	return manifest, nil
}
