package execution

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/storage"
)

// Part is a piece of an execution's work with a directory and checkpoints of its own: a trial of a
// search. Another attempt, even of another job, may continue the part or start from it. A Part is
// for one goroutine at a time.
type Part struct {
	dir         string
	attempt     *Attempt
	checkpoints *storage.Checkpoints
	place       storage.Place
	saved       bool // there may be checkpoints to remove
}

// Part returns a part of the execution by its name and directory. An attempt that saves a part
// opens it once. The component decides which attempt works on a part, as the log of a study does
// for its trials: so the last save counts, whichever job made it and at whatever step, and all save
// as the same attempt of the same job. An attempt that has lost its lease can't write.
func (a *Attempt) Part(name, dir string) *Part {
	place := a.Execution.place(a.Task.Attempt.ID).Part(name)
	return &Part{
		dir: dir, attempt: a, place: place,
		checkpoints: storage.OpenCheckpoints(a.Execution.fenced, place, name, 1),
	}
}

// Load copies the newest checkpoint of the part into a directory. It returns false if there is
// none.
func (p *Part) Load(ctx context.Context, dir string) (bool, error) {
	fresh, err := os.MkdirTemp(p.attempt.Workspace.dir, "loaded-") // no module can replace it
	if err != nil {
		return false, events.Fail(events.FailureUnavailable, fmt.Errorf("resume: %w", err))
	}
	defer os.RemoveAll(fresh)
	loaded, err := p.checkpoints.Load(ctx, fresh)
	if err == nil && loaded.Found() {
		err = errors.Join(os.Chmod(fresh, 0o755), runner.MoveIn(fresh, p.attempt.Workspace.base(dir), dir))
	}
	if err != nil {
		return false, events.Fail(events.FailureUnavailable, fmt.Errorf("resume: %w", err))
	}
	for _, why := range loaded.Passed {
		p.attempt.Execution.Log.WarnContext(ctx, "checkpoint skipped", "error", why)
	}
	p.saved = p.saved || loaded.Found()
	return loaded.Found(), nil
}

// StartCheckpointer returns a Checkpointer of the part's directory, to be stopped by
// StopCheckpointer.
func (p *Part) StartCheckpointer(ctx context.Context) *Checkpointer {
	a := p.attempt
	c := &Checkpointer{workspace: a.Workspace, part: p.dir, checkpoints: p.checkpoints, log: a.Execution.Log, saved: a.countSaved}
	c.start(ctx, a.executor.opts.Grace)
	return c
}

// StopCheckpointer stops the Checkpointer. If the part is done, waiting checkpoints are not
// uploaded.
func (p *Part) StopCheckpointer(c *Checkpointer, done bool) {
	c.Stop(done)
	p.saved = p.saved || c.copies > 0
}

// base returns a directory above dir that no module can replace. A module's own search chooses the
// directories of trials itself, and they may be anywhere.
func (w Workspace) base(dir string) string {
	if name, err := filepath.Rel(w.dir, dir); err == nil && filepath.IsLocal(name) {
		return w.dir
	}
	return string(filepath.Separator)
}

// Save uploads the directory as a checkpoint for parts that start from this one.
func (p *Part) Save(ctx context.Context, step int) error {
	p.saved = true
	c := &Checkpointer{workspace: p.attempt.Workspace, part: p.dir}
	if err := c.makeQueueDir(); err != nil {
		return err
	}
	defer c.removeQueueDir()
	whole := filepath.Join(c.queueDir, "whole") // the module can't change what the store reads
	if err := c.copy(whole, false, selection{}); err != nil {
		return events.Fail(events.FailureUnavailable, fmt.Errorf("copy the directory of a trial: %w", err))
	}
	if _, err := p.checkpoints.Save(ctx, whole, step); err != nil {
		return events.Fail(events.FailureUnavailable, err)
	}
	return nil
}

// Remove removes the checkpoints of the part if this attempt has loaded or saved any. Objects that
// can't be removed are left to garbage collection.
func (p *Part) Remove(ctx context.Context) {
	if !p.saved {
		return
	}
	place := p.place
	place.Attempt = ""
	if err := storage.RemoveCheckpoints(ctx, p.attempt.Execution.fenced, place); err != nil {
		p.attempt.Execution.Log.WarnContext(ctx, "checkpoints not removed from the store", "error", err)
	}
}

// Obsolete names parts whose checkpoints RemoveCheckpoints removes once the execution is committed.
func (a *Attempt) Obsolete(names ...string) {
	for _, name := range names {
		p := a.Part(name, "")
		p.saved = true
		a.obsolete = append(a.obsolete, p)
	}
}
