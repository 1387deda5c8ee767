package execution

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/storage"
)

// Part is a piece of an execution's work that has a folder and checkpoints of its own: a trial of a
// search. Another attempt, even of another job, may continue the part or start from it. It is for
// one goroutine at a time.
type Part struct {
	dir         string
	attempt     *Attempt
	checkpoints *storage.Checkpoints
	place       storage.Place
	saved       bool // maybe: there is something to forget
}

// Part returns a part of the execution by its name, whose work is in a folder. An attempt opens it
// once to save anything. The component decides which attempt works on a part, as the log of a study
// does for its trials: so the last save counts, whichever job makes it and however far another had
// come, and all save as one job's one attempt. An attempt that lost its own job can't write, as
// everywhere.
func (a *Attempt) Part(name, dir string) *Part {
	sum := sha256.Sum256([]byte(a.Execution.ID + " " + name))
	place := a.Execution.place(a.Task.Attempt.ID)
	place.Execution = "sha256:" + hex.EncodeToString(sum[:])
	return &Part{
		dir: dir, attempt: a, place: place,
		checkpoints: storage.OpenCheckpoints(a.Execution.fenced, place, name, 1),
	}
}

// Load lays the newest checkpoint of the part out in a folder; false if there is none.
func (p *Part) Load(ctx context.Context, dir string) (bool, error) {
	fresh, err := os.MkdirTemp(p.attempt.Workspace.dir, "loaded-") // a module can't have it written elsewhere by a link
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
		p.attempt.Execution.Log.WarnContext(ctx, "a checkpoint is passed over", "error", why)
	}
	p.saved = p.saved || loaded.Found()
	return loaded.Found(), nil
}

// StartCheckpointer begins to save checkpoints of the part's folder, as those of an attempt are
// saved. It must be stopped.
func (p *Part) StartCheckpointer(ctx context.Context) *Checkpointer {
	a := p.attempt
	c := &Checkpointer{workspace: a.Workspace, part: p.dir, checkpoints: p.checkpoints, log: a.Execution.Log, saved: a.countSaved}
	c.start(ctx, a.executor.opts.Grace)
	return c
}

// StopCheckpointer stops it; done says that the part has ended well: what is not sent by then is
// not sent any more.
func (p *Part) StopCheckpointer(c *Checkpointer, done bool) {
	c.Stop(done)
	p.saved = p.saved || c.copies > 0
}

// base is where no module can replace a folder on the way to another. A module's own search names
// the folders of trials itself, and they may be anywhere.
func (w Workspace) base(dir string) string {
	if name, err := filepath.Rel(w.dir, dir); err == nil && filepath.IsLocal(name) {
		return w.dir
	}
	return string(filepath.Separator)
}

// Keep sends what the folder holds for those that start from the part.
func (p *Part) Keep(ctx context.Context, step int) error {
	p.saved = true
	c := &Checkpointer{workspace: p.attempt.Workspace, part: p.dir}
	if err := c.makeQueueDir(); err != nil {
		return err
	}
	defer c.removeQueueDir()
	whole := filepath.Join(c.queueDir, "whole") // the module can't change what the store reads
	if err := c.copy(whole, false, selection{}); err != nil {
		return events.Fail(events.FailureUnavailable, fmt.Errorf("copy what is kept: %w", err))
	}
	if _, err := p.checkpoints.Save(ctx, whole, step); err != nil {
		return events.Fail(events.FailureUnavailable, err)
	}
	return nil
}

// Forget removes what is kept of the part, if this attempt has had to do with any. What stays
// behind is garbage for later.
func (p *Part) Forget(ctx context.Context) {
	if !p.saved {
		return
	}
	place := p.place
	place.Attempt = ""
	if err := storage.RemoveCheckpoints(ctx, p.attempt.Execution.fenced, place); err != nil {
		p.attempt.Execution.Log.WarnContext(ctx, "checkpoints are left in the store", "error", err)
	}
}

// Obsolete names parts whose checkpoints nobody needs once the execution is committed:
// RemoveCheckpoints removes them too.
func (a *Attempt) Obsolete(names ...string) {
	for _, name := range names {
		p := a.Part(name, "")
		p.saved = true
		a.obsolete = append(a.obsolete, p)
	}
}
