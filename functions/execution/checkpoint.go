package execution

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/storage"
)

// saver sends checkpoints to the store while the module trains on: one at a time, and of those that wait the newest. A
// checkpoint that can't be sent is no reason to fail a job; the next one may go.
type saver struct {
	copy        func(to string, all bool, chosen selection) error // of the module's folders
	settled     *settledFiles                                     // of these; nil where modules say themselves what is whole
	desk        Desk
	beside      string // what is copied waits here, where the module can't write; "" until the first copy
	checkpoints *storage.Checkpoints
	log         *slog.Logger
	saved       func(storage.Checkpoint)

	taking sync.Mutex // the module's messages and the watch
	warned bool       // that the files can't be scanned
	taken  int
	latest chan snapshot // holds one at most
}

// Take keeps the module's folders as they are when it says, by a checkpoint message, that they are whole; or, of a message that says
// Settled, what of them is. The copy is taken before it returns.
type Take func(m module.Message)

// snapshot is a copy of the module's folder at a step.
type snapshot struct {
	dir  string
	step int
}

// makeFolder makes the folder that copies wait in, unless it is there: most trials of a search have no checkpoint.
func (s *saver) makeFolder() (err error) {
	if s.beside != "" {
		return nil
	}
	if s.beside, err = os.MkdirTemp(s.desk.dir, "checkpoints-"); err != nil {
		return events.Fail(events.FailureUnavailable, fmt.Errorf("make a folder for checkpoints: %w", err))
	}
	return nil
}

// removeFolder removes what makeFolder has made. What stays goes with the desk.
func (s *saver) removeFolder() {
	if s.beside != "" {
		_ = os.RemoveAll(s.beside)
	}
}

// saving runs finish and sends the attempt's checkpoints that it takes.
func (a *Attempt) saving(ctx context.Context, finish func(take Take) error) error {
	s := &saver{
		desk: a.Desk, copy: a.Desk.copyKept, settled: newSettledFiles(a.Desk, time.Now), checkpoints: a.checkpoints, log: a.Execution.Log, saved: a.countSaved,
		latest: make(chan snapshot, 1),
	}
	defer s.removeFolder()
	err := a.shop.saving(ctx, s, finish)
	a.mayHaveCheckpoints = a.mayHaveCheckpoints || s.taken > 0
	return err
}

// saving runs finish and sends the checkpoints that it takes. It returns when none is being sent any more: at once when the
// execution is committed, since nobody needs them then; else the last one is waited for, so that the next attempt finds it. A
// job that was cancelled, or is another's by now, sends nothing more.
func (w *Workshop) saving(ctx context.Context, s *saver, finish func(take Take) error) error {
	sending, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, func() { w.leave(context.Cause(ctx), sending, stop) })()

	var uploads sync.WaitGroup
	uploads.Go(func() { s.sendAll(sending) })
	sent := func() {
		close(s.latest)
		uploads.Wait()
		stop(nil)
	}
	defer sent()

	err := finish(s.take)
	if err == nil {
		stop(errCommitted)
	}
	return err
}

var (
	errCommitted = errors.New("the execution is committed")
	errLeaving   = errors.New("no time left to send it")
)

// leave ends the sending when the job's ctx has ended: at once where the job is not ours to save, else when a worker that was
// told to leave has no more time. Options.Grace is the module's, and the sending ends at 3/2 of that. `stoker worker` gives its
// module 3/5 of its own time, so that this is 9/10 of it.
func (w *Workshop) leave(cause error, sending context.Context, stop context.CancelCauseFunc) {
	if errors.Is(cause, events.ErrLeaseLost) || errors.Is(cause, events.ErrCancelled) {
		stop(cause)
		return
	}
	timer := time.NewTimer(w.opts.Grace * 3 / 2)
	defer timer.Stop()
	select {
	case <-timer.C:
		stop(errLeaving)
	case <-sending.Done():
	}
}

// take keeps the module's folder as it is now, instead of one that still waits. It holds up the module's messages, so
// it is quick.
func (s *saver) take(m module.Message) {
	s.taking.Lock()
	defer s.taking.Unlock()
	var chosen selection
	if s.settled != nil && m.All {
		err := s.settled.scan()
		if err != nil {
			s.warnScan(err)
		}
		if m.Settled {
			if err != nil {
				return
			}
			if m.Over {
				s.settled.stopped()
			}
			var ok bool
			if chosen, ok = s.settled.choose(); !ok {
				return
			}
		}
	}
	if err := s.makeFolder(); err != nil {
		s.log.Warn("a checkpoint is not kept", "step", m.Step, "error", err)
		return
	}
	s.taken++
	snap := snapshot{dir: filepath.Join(s.beside, "checkpoint-"+strconv.Itoa(s.taken)), step: m.Step}
	if err := s.copy(snap.dir, m.All, chosen); err != nil {
		s.log.Warn("a checkpoint is not kept", "step", m.Step, "error", err)
		snap.remove()
		return
	}
	if s.settled != nil {
		s.settled.keep(chosen)
	}
	select {
	case old := <-s.latest:
		old.remove()
	default:
	}
	s.latest <- snap // there is room: only take fills it
}

// warnScan logs why files can't be scanned, once: the next scan comes soon.
func (s *saver) warnScan(err error) {
	if !s.warned {
		s.warned = true
		s.log.Warn("files are not scanned for checkpoints", "error", err)
	}
}

// sendAll sends until there are no more.
func (s *saver) sendAll(ctx context.Context) {
	for snap := range s.latest {
		s.send(ctx, snap)
		snap.remove()
	}
}

func (s *saver) send(ctx context.Context, snap snapshot) {
	if ctx.Err() != nil {
		return
	}
	saved, err := s.checkpoints.Save(ctx, snap.dir, snap.step)
	switch {
	case err == nil:
		s.saved(saved)
		s.log.DebugContext(ctx, "checkpoint saved", "step", snap.step, "number", saved.Number)
	case errors.Is(context.Cause(ctx), errCommitted):
	case errors.Is(err, storage.ErrSuperseded):
		s.log.InfoContext(ctx, "another attempt's checkpoints count", "step", snap.step, "error", err)
	default:
		s.log.WarnContext(ctx, "a checkpoint is not saved; the one before it stands", "step", snap.step, "error", err)
	}
}

// countSaved tells of a checkpoint that is in the store.
func (a *Attempt) countSaved(c storage.Checkpoint) {
	var size int64
	for _, file := range c.Files {
		size += file.Size
	}
	a.shop.opts.Telemetry.Checkpoint(context.Background(), a.Job.Pipeline, size)
}

func (s snapshot) remove() { _ = os.RemoveAll(s.dir) } // what stays goes with the Desk

// Resume lays out what earlier attempts have left for the module to go on from. That a store is away is no reason to begin
// anew: then another attempt comes later.
func (a *Attempt) Resume(ctx context.Context) error {
	e := a.Execution
	a.checkpoints = storage.OpenCheckpoints(e.fenced, e.place(a.Task.Attempt.ID), asked(a.Job), a.Task.Attempt.Number)
	loaded, err := a.checkpoints.Load(ctx, a.Desk.Working())
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
	if err := a.Desk.layOutRun(); err != nil {
		return events.Fail(events.FailureUnavailable, fmt.Errorf("resume: %w", err))
	}
	a.Resumed, a.from = loaded.Step, fmt.Sprintf("checkpoint %d of attempt %s", loaded.Number, loaded.Attempt)
	e.Log.InfoContext(ctx, "going on from a checkpoint", "step", loaded.Step, "left_by", loaded.Attempt)
	a.Report(events.Progress{Phase: "resuming", Step: loaded.Step})
	return nil
}

// asked names a job as it was asked for: attempts at one that is tried again by hand are counted anew.
func asked(job events.Job) string {
	if job.Request == "" {
		return job.ID
	}
	return job.ID + " " + job.Request
}

// forget removes the checkpoints of an execution that is committed. What stays behind is garbage for later.
func (a *Attempt) forget(ctx context.Context) {
	if !a.mayHaveCheckpoints {
		return
	}
	if err := storage.RemoveCheckpoints(ctx, a.Execution.fenced, a.Execution.place("")); err != nil {
		a.Execution.Log.WarnContext(ctx, "checkpoints are left in the store", "error", err)
	}
}
