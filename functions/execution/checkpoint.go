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

// resume lays out the newest checkpoint of earlier attempts for the module to resume from, and
// starts to save those of this one. If the store is away the attempt fails: a later one resumes,
// and none starts anew because of that.
func (a *Attempt) resume(ctx context.Context, work Work) error {
	if !work.Resumes() {
		return nil
	}
	if err := a.loadCheckpoint(ctx); err != nil {
		return err
	}
	a.checkpointer = &Checkpointer{
		workspace: a.Workspace, scan: newScanner(a.Workspace, time.Now), checkpoints: a.checkpoints, log: a.Execution.Log, saved: a.countSaved,
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
		e.Log.WarnContext(ctx, "a checkpoint is passed over", "error", why)
	}
	a.mayHaveCheckpoints = loaded.Found() || len(loaded.Passed) > 0 || a.Task.Attempt.Number > 1
	if !loaded.Found() {
		return nil
	}
	if err := a.Workspace.layOutRun(); err != nil {
		return events.Fail(events.FailureUnavailable, fmt.Errorf("resume: %w", err))
	}
	a.Resumed, a.from = loaded.Step, fmt.Sprintf("checkpoint %d of attempt %s", loaded.Number, loaded.Attempt)
	e.Log.InfoContext(ctx, "going on from a checkpoint", "step", loaded.Step, "left_by", loaded.Attempt)
	a.Report(events.Progress{Phase: "resuming", Step: loaded.Step})
	return nil
}

// request names a job as it was asked for: attempts at one that is retried by hand are counted
// anew.
func request(job events.Job) string {
	if job.Request == "" {
		return job.ID
	}
	return job.ID + " " + job.Request
}

// SaveCheckpoint keeps the module's folders as they are now, when a checkpoint message says that
// they are consistent; or, for a message with Settled, those of its files that are whole. The copy
// is made before SaveCheckpoint returns. An attempt that does not resume from checkpoints saves
// none.
func (a *Attempt) SaveCheckpoint(m module.Message) {
	if a.checkpointer != nil {
		a.checkpointer.Save(m)
	}
}

// RemoveCheckpoints removes the checkpoints of an execution that is committed, or whose state is
// kept elsewhere by now. It stops the sending of others first. What stays behind is garbage for
// later.
func (a *Attempt) RemoveCheckpoints(ctx context.Context) {
	a.stopCheckpointer(true)
	if a.mayHaveCheckpoints {
		if err := storage.RemoveCheckpoints(ctx, a.Execution.fenced, a.Execution.place("")); err != nil {
			a.Execution.Log.WarnContext(ctx, "checkpoints are left in the store", "error", err)
		}
	}
	for _, part := range a.obsolete {
		part.Forget(ctx)
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

// countSaved counts a checkpoint that is in the store.
func (a *Attempt) countSaved(c storage.Checkpoint) {
	var size int64
	for _, file := range c.Files {
		size += file.Size
	}
	a.executor.opts.Telemetry.Checkpoint(context.Background(), a.Job.Pipeline, size)
}

// Checkpointer copies a module's folders when it says that they are consistent, and sends the
// copies to the store while the module trains on: one at a time, and of those that wait the newest.
// A checkpoint that can't be sent fails no job; the next one may be sent. Save may be called from
// several goroutines at once.
type Checkpointer struct {
	workspace   Workspace
	part        string   // the folder to copy; "": those of the workspace that belong to a checkpoint
	scan        *scanner // of these; nil where modules say themselves what is whole
	checkpoints *storage.Checkpoints
	log         *slog.Logger
	saved       func(storage.Checkpoint)

	saving   sync.Mutex // the module's messages and the watch
	warned   bool       // that the files can't be scanned
	copies   int
	waitsIn  string        // where copies wait, and the module can't write; "" until the first copy
	latest   chan snapshot // holds one at most
	stop     context.CancelCauseFunc
	unfollow func() bool
	sending  sync.WaitGroup
}

// snapshot is a copy of the module's folder at a step.
type snapshot struct {
	dir  string
	step int
}

// start begins the sending, which ends with Stop; or after ctx has ended: at once for a job that
// was cancelled or is another worker's by now, else when a worker that must stop has no more time.
// grace is what the module has then, and the sending ends at 3/2 of that. `stoker worker` gives its
// module 3/5 of its own time, so that this is 9/10 of it.
func (c *Checkpointer) start(ctx context.Context, grace time.Duration) {
	var sending context.Context
	sending, c.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	c.unfollow = context.AfterFunc(ctx, func() { c.leave(context.Cause(ctx), sending, grace*3/2) })
	c.latest = make(chan snapshot, 1)
	c.sending.Go(func() { c.sendAll(sending) })
}

var (
	errCommitted = errors.New("the execution is committed")
	errLeaving   = errors.New("no time left to send it")
)

func (c *Checkpointer) leave(cause error, sending context.Context, after time.Duration) {
	if errors.Is(cause, events.ErrLeaseLost) || errors.Is(cause, events.ErrCancelled) {
		c.stop(cause)
		return
	}
	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case <-timer.C:
		c.stop(errLeaving)
	case <-sending.Done():
	}
}

// Stop returns when no checkpoint is being sent any more: at once when the work is done, since
// nobody needs them then; else the last one is waited for, so that the next attempt finds it. It is
// called once.
func (c *Checkpointer) Stop(done bool) {
	if done {
		c.stop(errCommitted)
	}
	close(c.latest)
	c.sending.Wait()
	c.stop(nil)
	c.unfollow()
	c.removeFolder()
}

// Save copies the module's folders as they are now, in place of a copy that still waits. It holds
// up the module's messages, so it is quick.
func (c *Checkpointer) Save(m module.Message) {
	c.saving.Lock()
	defer c.saving.Unlock()
	chosen, ok := c.choose(m)
	if !ok {
		return
	}
	if err := c.makeFolder(); err != nil {
		c.log.Warn("a checkpoint is not kept", "step", m.Step, "error", err)
		return
	}
	c.copies++
	snap := snapshot{dir: filepath.Join(c.waitsIn, "checkpoint-"+strconv.Itoa(c.copies)), step: m.Step}
	if err := c.copy(snap.dir, m.All, chosen); err != nil {
		c.log.Warn("a checkpoint is not kept", "step", m.Step, "error", err)
		snap.remove()
		return
	}
	if c.scan != nil {
		c.scan.keep(chosen)
	}
	select {
	case old := <-c.latest:
		old.remove()
	default:
	}
	c.latest <- snap // does not block: only Save sends
}

// choose selects the files of a checkpoint; false if there is none to be made now.
func (c *Checkpointer) choose(m module.Message) (chosen selection, ok bool) {
	if c.scan == nil || !m.All {
		return chosen, true
	}
	err := c.scan.scan()
	if err != nil && !c.warned { // once: the next scan comes soon
		c.warned = true
		c.log.Warn("files are not scanned for checkpoints", "error", err)
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

// copy copies the module's folders: files that are linked are those that no module writes to again.
func (c *Checkpointer) copy(to string, all bool, chosen selection) error {
	switch {
	case c.part == "":
		return c.workspace.copyKept(to, all, chosen)
	case all:
		return copyTree(c.workspace.base(c.part), c.part, to, math.MaxInt64, nil)
	}
	return copyTree(c.workspace.base(c.part), c.part, to, copiedBytes, nil)
}

// makeFolder makes the folder that copies wait in, unless it exists: most trials of a search have
// no checkpoint.
func (c *Checkpointer) makeFolder() (err error) {
	if c.waitsIn != "" {
		return nil
	}
	if c.waitsIn, err = os.MkdirTemp(c.workspace.dir, "checkpoints-"); err != nil {
		return events.Fail(events.FailureUnavailable, fmt.Errorf("make a folder for checkpoints: %w", err))
	}
	return nil
}

// removeFolder removes what makeFolder has made. What stays goes with the workspace.
func (c *Checkpointer) removeFolder() {
	if c.waitsIn != "" {
		_ = os.RemoveAll(c.waitsIn)
	}
}

// sendAll sends until there are no more.
func (c *Checkpointer) sendAll(ctx context.Context) {
	for snap := range c.latest {
		c.send(ctx, snap)
		snap.remove()
	}
}

func (c *Checkpointer) send(ctx context.Context, snap snapshot) {
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
		c.log.InfoContext(ctx, "another attempt's checkpoints count", "step", snap.step, "error", err)
	default:
		c.log.WarnContext(ctx, "a checkpoint is not saved; the one before it stands", "step", snap.step, "error", err)
	}
}

func (s snapshot) remove() { _ = os.RemoveAll(s.dir) } // what stays goes with the workspace
