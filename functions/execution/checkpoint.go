package execution

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/storage"
)

// resume copies the newest checkpoint of earlier attempts into the workspace, and starts the
// Checkpointer of this attempt. If the store is unavailable the attempt fails, so that a later one
// resumes instead of starting from the beginning.
func (a *Attempt) resume(ctx context.Context, work Work) error {
	if !work.Resumes() {
		return nil
	}
	if err := a.loadCheckpoint(ctx); err != nil {
		return err
	}
	a.checkpointer = &Checkpointer{
		workspace: a.Workspace, scan: newScanner(a.Workspace, time.Now),
		checkpoints: a.checkpoints, log: a.Execution.Log, saved: a.countSaved,
	}
	a.checkpointer.start(ctx, a.executor.opts.Grace)
	return nil
}

func (a *Attempt) loadCheckpoint(ctx context.Context) error {
	e := a.Execution
	a.checkpoints = storage.OpenCheckpoints(e.fenced, e.place(a.Task.Attempt.ID), request(a.Job), a.Task.Attempt.Number)
	loaded, err := a.checkpoints.Load(ctx, a.Workspace.Working())
	if err != nil {
		return events.Fail(events.FailureUnavailable, fmt.Errorf("resume: %w", err))
	}
	for _, why := range loaded.Passed {
		e.Log.WarnContext(ctx, "checkpoint skipped", "error", why)
	}
	a.mayHaveCheckpoints = loaded.Found() || len(loaded.Passed) > 0 || a.Task.Attempt.Number > 1
	if !loaded.Found() {
		return nil
	}
	if err := a.Workspace.restoreModelRun(); err != nil {
		return events.Fail(events.FailureUnavailable, fmt.Errorf("resume: %w", err))
	}
	a.Resumed, a.from = loaded.Step, fmt.Sprintf("checkpoint %d of attempt %s", loaded.Number, loaded.Attempt)
	e.Log.InfoContext(ctx, "resuming from a checkpoint", "step", loaded.Step, "saved_by", loaded.Attempt)
	a.Report(events.Progress{Phase: "resuming", Step: loaded.Step})
	return nil
}

// request identifies a request for a job. A job that an operator retries is a new request, whose
// attempts are counted from one.
func request(job events.Job) string {
	if job.Request == "" {
		return job.ID
	}
	return job.ID + " " + job.Request
}

// SaveCheckpoint saves the module's directories as they are now: all of them, because the message
// says that they are consistent, or only the whole files if the message has Settled set. The copy
// is complete when SaveCheckpoint returns. An attempt that does not resume from checkpoints saves
// none.
func (a *Attempt) SaveCheckpoint(m module.Message) {
	if a.checkpointer != nil {
		a.checkpointer.Save(m)
	}
}

// RemoveCheckpoints removes the checkpoints of an execution that is committed or whose state is
// stored elsewhere. It stops uploads first. Objects that can't be removed are left to garbage
// collection.
func (a *Attempt) RemoveCheckpoints(ctx context.Context) {
	a.stopCheckpointer(true)
	if a.mayHaveCheckpoints {
		if err := storage.RemoveCheckpoints(ctx, a.Execution.fenced, a.Execution.place("")); err != nil {
			a.Execution.Log.WarnContext(ctx, "checkpoints not removed from the store", "error", err)
		}
	}
	for _, part := range a.obsolete {
		part.Remove(ctx)
	}
}

func (a *Attempt) stopCheckpointer(done bool) {
	if a.checkpointer == nil {
		return
	}
	a.checkpointer.Stop(done)
	a.mayHaveCheckpoints = a.mayHaveCheckpoints || a.checkpointer.copies > 0
	a.checkpointer = nil
}

// countSaved records the metrics of a checkpoint that is in the store.
func (a *Attempt) countSaved(c storage.Checkpoint) {
	var size int64
	for _, file := range c.Files {
		size += file.Size
	}
	a.executor.opts.Telemetry.Checkpoint(context.Background(), a.Job.Pipeline, size)
}

// Checkpointer copies a module's directories when they are consistent and uploads the copies while
// the module trains on: one at a time, and of several that wait only the newest. A checkpoint that
// can't be copied or uploaded does not fail the job. Save may be called by several goroutines.
type Checkpointer struct {
	workspace   Workspace
	part        string   // the directory to copy; "": working/ and model_run/ of the workspace
	scan        *scanner // of these directories; nil if modules report all of their checkpoints
	checkpoints *storage.Checkpoints
	log         *slog.Logger
	saved       func(storage.Checkpoint)

	saving sync.Mutex // serializes the module's messages and the file watch
	warned bool       // a warning about failing scans was logged
	copies int
	// Holds the copies that wait, which the module can't change; "" until the first.
	queueDir string
	latest   chan snapshot // holds one at most
	stop     context.CancelCauseFunc
	unfollow func() bool
	uploads  sync.WaitGroup
}

// snapshot is a copy of the module's directories at a step.
type snapshot struct {
	dir  string
	step int
}

// start starts the uploads. They end with Stop or after the end of ctx: at once if the job was
// cancelled or its lease was lost, else after 3/2 of grace. grace is the time that a module has to
// stop: `stoker worker` gives it 3/5 of its own, so that uploads end at 9/10 of that.
func (c *Checkpointer) start(ctx context.Context, grace time.Duration) {
	var uploading context.Context
	uploading, c.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	c.unfollow = context.AfterFunc(ctx, func() { c.stopAfter(context.Cause(ctx), uploading, grace*3/2) })
	c.latest = make(chan snapshot, 1)
	c.uploads.Go(func() { c.uploadAll(uploading) })
}

var (
	errCommitted  = errors.New("the execution is committed")
	errNoTimeLeft = errors.New("no time left to upload the checkpoint")
)

// stopAfter stops the uploads of an attempt that has ended by a cause.
func (c *Checkpointer) stopAfter(cause error, uploading context.Context, after time.Duration) {
	if errors.Is(cause, events.ErrLeaseLost) || errors.Is(cause, events.ErrCancelled) {
		c.stop(cause)
		return
	}
	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case <-timer.C:
		c.stop(errNoTimeLeft)
	case <-uploading.Done():
	}
}

// Stop ends the uploads and waits for their end. If the work is done, nothing needs the checkpoints
// any more and they are aborted; else the last one is uploaded for the next attempt. Stop is called
// once.
func (c *Checkpointer) Stop(done bool) {
	if done {
		c.stop(errCommitted)
	}
	close(c.latest)
	c.uploads.Wait()
	c.stop(nil)
	c.unfollow()
	c.removeQueueDir()
}

// Save copies the module's directories as they are now. The copy replaces one that still waits. The
// module's messages wait for Save, so it uploads nothing itself.
func (c *Checkpointer) Save(m module.Message) {
	c.saving.Lock()
	defer c.saving.Unlock()
	chosen, ok := c.choose(m)
	if !ok {
		return
	}
	snap, err := c.snapshot(m, chosen)
	switch {
	case errors.Is(err, errFilesChanged) && m.Settled && !m.Over:
		c.log.Debug("files changed while a checkpoint was copied; the next scan tries again", "step", m.Step, "error", err)
		return
	case err != nil:
		c.log.Warn("checkpoint not saved", "step", m.Step, "error", err)
		return
	}
	if c.scan != nil {
		c.scan.recordSaved(chosen)
	}
	select {
	case old := <-c.latest:
		old.remove()
	default:
	}
	c.latest <- snap // does not block: only Save sends
}

// choose selects the files of a checkpoint. It returns false if none is to be made now.
func (c *Checkpointer) choose(m module.Message) (chosen selection, ok bool) {
	if c.scan == nil || !m.All {
		return chosen, true
	}
	err := c.scan.scan()
	if err != nil && !c.warned { // once: the next scan comes soon
		c.warned = true
		c.log.Warn("the module's files can't be scanned for checkpoints", "error", err)
	}
	switch {
	case !m.Settled:
		return chosen, true
	case err != nil:
		return chosen, false
	case m.Over:
		c.scan.stopped()
	}
	return c.scan.choose()
}

// snapshot copies the chosen files into a directory of its own.
func (c *Checkpointer) snapshot(m module.Message, chosen selection) (snapshot, error) {
	if err := c.makeQueueDir(); err != nil {
		return snapshot{}, err
	}
	c.copies++
	snap := snapshot{dir: filepath.Join(c.queueDir, "checkpoint-"+strconv.Itoa(c.copies)), step: m.Step}
	if err := c.copy(snap.dir, m.All, chosen); err != nil {
		snap.remove()
		return snapshot{}, err
	}
	return snap, nil
}

// copy copies the module's directories. It links only files that no module writes to again.
func (c *Checkpointer) copy(to string, all bool, chosen selection) error {
	switch {
	case c.part == "" && all:
		return c.workspace.copyAll(to, chosen)
	case c.part == "":
		return copyTree(c.workspace.dir, c.workspace.Working(), to, copiedBytes, nil)
	case all:
		return copyTree(c.workspace.base(c.part), c.part, to, math.MaxInt64, nil)
	}
	return copyTree(c.workspace.base(c.part), c.part, to, copiedBytes, nil)
}

// makeQueueDir makes the directory for copies that wait, unless it exists: most trials of a search
// have no checkpoint.
func (c *Checkpointer) makeQueueDir() (err error) {
	if c.queueDir != "" {
		return nil
	}
	if c.queueDir, err = os.MkdirTemp(c.workspace.dir, "checkpoints-"); err != nil {
		return events.Fail(events.FailureUnavailable, fmt.Errorf("make a directory for checkpoints: %w", err))
	}
	return nil
}

// removeQueueDir removes the directory for copies that wait. If that fails, it is removed with the
// workspace.
func (c *Checkpointer) removeQueueDir() {
	if c.queueDir != "" {
		_ = os.RemoveAll(c.queueDir)
	}
}

// uploadAll uploads snapshots until there are no more.
func (c *Checkpointer) uploadAll(ctx context.Context) {
	for snap := range c.latest {
		c.upload(ctx, snap)
		snap.remove()
	}
}

func (c *Checkpointer) upload(ctx context.Context, snap snapshot) {
	if ctx.Err() != nil {
		return
	}
	saved, err := c.checkpoints.Save(ctx, snap.dir, snap.step)
	switch {
	case err == nil:
		c.saved(saved)
		c.log.DebugContext(ctx, "checkpoint saved", "step", snap.step, "number", saved.Number)
	case errors.Is(context.Cause(ctx), errCommitted):
	case errors.Is(err, storage.ErrSuperseded):
		c.log.InfoContext(ctx, "another attempt has a newer checkpoint", "step", snap.step, "error", err)
	default:
		c.log.WarnContext(ctx, "checkpoint not saved; the previous one is kept", "step", snap.step, "error", err)
	}
}

// remove removes the copy. If that fails, it is removed with the workspace.
func (s snapshot) remove() { _ = os.RemoveAll(s.dir) }
