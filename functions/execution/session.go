package execution

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/guest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/telemetry"
)

// Run runs the module and passes on how it gets on. The module's log is kept whether it succeeds or fails.
func (a *Attempt) Run(ctx context.Context, told module.Assignment, r pipeline.Resources, take Take) (guest.Outcome, error) {
	return a.RunTuning(ctx, told, r, take, func(module.Message) {})
}

// RunTuning is Run for a module that may say what to search for: study is called with what it says.
func (a *Attempt) RunTuning(ctx context.Context, told module.Assignment, r pipeline.Resources, take Take, study Take) (outcome guest.Outcome, err error) {
	ctx, span := telemetry.Start(ctx, "module")
	defer span.End(&err)
	a.Report(events.Progress{Phase: "starting"})
	code, err := a.code(ctx)
	if err != nil {
		return guest.Outcome{}, err
	}
	told.Module, told.Trace = code.source, traced(ctx)
	limits := guest.Limits{
		Timeout: r.Timeout.Duration(), MemoryBytes: r.Memory.Bytes(), Grace: a.shop.opts.Grace, LogPath: a.Desk.log(),
		GPU: r.WantsGPU(),
	}
	kept, err := a.openLog()
	if err != nil {
		return guest.Outcome{}, err
	}
	defer kept.Close()
	live := a.tellLog()
	limits.Live = live
	watch := a.watchFiles(code.source, take)
	outcome, err = a.runModule(ctx, told, limits, func(m module.Message) {
		switch m.Type {
		case module.MessageProgress:
			watch.reached(m.Step)
			a.Report(events.Progress{Phase: m.Phase, Step: m.Step, Steps: m.Steps, Metrics: m.Metrics})
		case module.MessageCheckpoint:
			take(m)
		case module.MessageStudy:
			study(m)
		}
	})
	watch.end(err != nil)
	live.end()
	a.log, a.logTail = a.keepLog(ctx, kept), outcome.LogTail
	if err != nil {
		return guest.Outcome{}, a.AtAddresses(moduleFailure(err, a.log))
	}
	if outcome.Module != "" && outcome.Module != a.Execution.Module { // it changed at the last moment
		return guest.Outcome{}, a.changed()
	}
	return outcome, nil
}

// traced is where in a trace a module works; nil where nobody traces it.
func traced(ctx context.Context) *module.Trace {
	place := telemetry.PlaceOf(ctx)
	if place.Parent == "" {
		return nil
	}
	return &module.Trace{Parent: place.Parent, State: place.State}
}

// keepLogTime bounds what a job that is stopping spends on its log.
const keepLogTime = 5 * time.Second

// openLog makes the file of the log, and keeps it open: what is uploaded later is this file, whatever has its name by then.
func (a *Attempt) openLog() (*os.File, error) {
	file, err := os.OpenFile(a.Desk.log(), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return nil, events.Fail(events.FailureUnavailable, fmt.Errorf("make the log of a module: %w", err))
	}
	return file, nil
}

// keepLog uploads the module's log beside the attempt's manifest, and returns its address. A log that can't be
// kept is no reason to fail a job.
func (a *Attempt) keepLog(ctx context.Context, file *os.File) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepLogTime)
	defer cancel()
	place := a.Execution.place(a.Task.Attempt.ID)
	info, err := file.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%s: is no regular file", file.Name())
	default:
		_, err = a.Execution.fenced.Put(ctx, place.Log(), file, info.Size())
	}
	if err != nil {
		a.Execution.Log.WarnContext(ctx, "the module's log is not kept", "error", err)
		return ""
	}
	return place.Log().String()
}

// Opener is a Guest that can have one module process work on many assignments.
type Opener interface {
	Open(ctx context.Context, source module.Source) (*guest.Session, error)
}

// Sitting has the module of an attempt work on one assignment after another. Its log stays on the desk: what one of many assignments
// printed is told of where it failed, and kept nowhere. It is for one goroutine at a time.
type Sitting struct {
	attempt *Attempt
	code    code
	run     func(context.Context, module.Assignment, guest.Limits, func(module.Message)) (guest.Outcome, error)
	close   func()
	live    *live // of all assignments together
}

// Sit finds the module once for many assignments. The sitting is to be closed before the attempt.
func (a *Attempt) Sit(ctx context.Context) (*Sitting, error) {
	found, err := a.code(ctx)
	if err != nil {
		return nil, err
	}
	live := a.tellLog()
	s := &Sitting{attempt: a, code: found, live: live, run: a.shop.guest.Run, close: live.end}
	if opener, can := a.shop.guest.(Opener); can {
		session, err := opener.Open(ctx, found.source)
		if err != nil {
			live.end()
			return nil, a.AtAddresses(moduleFailure(err, ""))
		}
		s.run, s.close = session.Run, func() { session.Close(); live.end() }
	}
	return s, nil
}

// Run works on one assignment. Its errors are events.Failures.
func (s *Sitting) Run(ctx context.Context, told module.Assignment, r pipeline.Resources, on func(module.Message)) (outcome guest.Outcome, err error) {
	ctx, span := telemetry.Start(ctx, "module")
	defer span.End(&err)
	a := s.attempt
	told.Module, told.Trace = s.code.source, traced(ctx)
	limits := guest.Limits{Timeout: r.Timeout.Duration(), MemoryBytes: r.Memory.Bytes(), Grace: a.shop.opts.Grace, GPU: r.WantsGPU(), Live: s.live}
	outcome, err = s.run(ctx, told, limits, on)
	switch {
	case err != nil:
		return outcome, a.AtAddresses(moduleFailure(err, ""))
	case outcome.Module != "" && outcome.Module != a.Execution.Module:
		return outcome, a.changed()
	}
	return outcome, nil
}

// IsTFX says whether the module is a TFX module: one that searches by itself, and trains no trial that it is told.
func (s *Sitting) IsTFX() bool { return guest.IsTFX(s.code.source.Path) }

// Close ends the module's process.
func (s *Sitting) Close() { s.close() }
