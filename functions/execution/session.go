package execution

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/telemetry"
)

// SessionRunner is a Runner that can have one module process work on many assignments.
type SessionRunner interface {
	Open(ctx context.Context, source module.Source) (*runner.Session, error)
}

// Session has the module of an attempt work on one assignment, or on one after another. It is for
// one goroutine at a time.
type Session struct {
	attempt *Attempt
	opts    SessionOptions
	code    code
	open    *runner.Session // nil: each assignment has a process of its own
	live    *live           // output of all assignments together
}

// SessionOptions choose how a session runs its module. In any case the module's log is reported
// while it is printed, and the end of the log is part of a failure.
type SessionOptions struct {
	// KeepLog uploads the log of an assignment next to the attempt's manifest, whether it succeeds
	// or fails, and saves checkpoints of a TFX module's files where the attempt saves any. The
	// session has one assignment then.
	KeepLog bool
	// Reuse has one process work on all assignments, if the runner is a SessionRunner.
	Reuse bool
}

// OpenSession finds the module, and makes sure that it is the one that identifies the execution.
// The session must be closed before the attempt.
func (a *Attempt) OpenSession(ctx context.Context, opts SessionOptions) (*Session, error) {
	found, err := a.code(ctx)
	if err != nil {
		return nil, err
	}
	s := &Session{attempt: a, opts: opts, code: found}
	if opener, can := a.executor.runner.(SessionRunner); can && opts.Reuse {
		if s.open, err = opener.Open(ctx, found.source); err != nil {
			return nil, a.AtAddresses(moduleFailure(err, ""))
		}
	}
	s.live = a.reportLog()
	return s, nil
}

// Run works on one assignment and calls on for each of the module's messages, one at a time. Its
// errors are events.Failures.
func (s *Session) Run(ctx context.Context, assignment module.Assignment, on func(module.Message)) (outcome runner.Outcome, err error) {
	ctx, span := telemetry.Start(ctx, "module")
	defer span.End(&err)
	a := s.attempt
	assignment.Module, assignment.Trace = s.code.source, traced(ctx)
	limits, log := a.limits(s.live), ""
	if s.opts.KeepLog {
		outcome, err = s.runKept(ctx, assignment, limits, on)
		log = a.log
	} else {
		outcome, err = s.run(ctx, assignment, limits, on)
	}
	switch {
	case err != nil:
		return runner.Outcome{}, a.AtAddresses(moduleFailure(err, log))
	case outcome.Module != "" && outcome.Module != a.Execution.Module:
		// The module changed at the last moment.
		return runner.Outcome{}, a.changed()
	}
	a.ran = outcome.Platform
	return outcome, nil
}

// runKept keeps the log, and the checkpoints of the files of a module that does not report when
// they are whole.
func (s *Session) runKept(ctx context.Context, assignment module.Assignment, limits runner.Limits, on func(module.Message)) (runner.Outcome, error) {
	a := s.attempt
	kept, err := a.openLog()
	if err != nil {
		return runner.Outcome{}, err
	}
	defer kept.Close()
	limits.LogPath = a.Workspace.log()
	watch := a.watchFiles(s.code.source)
	outcome, err := s.run(ctx, assignment, limits, func(m module.Message) {
		if m.Type == module.MessageProgress {
			watch.reached(m.Step)
		}
		on(m)
	})
	watch.end(err != nil)
	s.live.end()
	a.log, a.logTail = a.keepLog(ctx, kept), outcome.LogTail
	return outcome, err
}

// run runs the module in the session's process or in one of its own, on this host or on all hosts
// of a group.
func (s *Session) run(ctx context.Context, assignment module.Assignment, limits runner.Limits, on func(module.Message)) (runner.Outcome, error) {
	switch a := s.attempt; {
	case a.group != nil:
		return a.leadHosts(ctx, assignment, limits, on)
	case a.round != nil:
		return a.followLeader(ctx, assignment, limits, on)
	case s.open != nil:
		return s.open.Run(ctx, assignment, limits, on)
	default:
		return a.executor.runner.Run(ctx, assignment, limits, on)
	}
}

// IsTFX reports whether the module is a TFX module: such a module runs a search by itself, and
// can't be assigned single trials.
func (s *Session) IsTFX() bool { return runner.IsTFX(s.code.source.Path) }

// Close ends the module's process.
func (s *Session) Close() {
	if s.open != nil {
		s.open.Close()
	}
	s.live.end()
}

// Handle reports the progress that a module sends, and saves the checkpoints.
func (a *Attempt) Handle(m module.Message) {
	switch m.Type {
	case module.MessageProgress:
		a.Report(events.Progress{Phase: m.Phase, Step: m.Step, Steps: m.Steps, Metrics: m.Metrics})
	case module.MessageCheckpoint:
		a.SaveCheckpoint(m)
	}
}

// limits returns the limits of a module that prints to a log.
func (a *Attempt) limits(log *live) runner.Limits {
	r := a.Execution.Resources
	return runner.Limits{
		Timeout: r.Timeout.Duration(), MemoryBytes: r.Memory.Bytes(), Grace: a.executor.opts.Grace, GPU: r.WantsGPU(), Live: log,
	}
}

// traced returns the span that a module's spans belong to; nil if the job isn't traced.
func traced(ctx context.Context) *module.Trace {
	place := telemetry.PlaceOf(ctx)
	if place.Parent == "" {
		return nil
	}
	return &module.Trace{Parent: place.Parent, State: place.State}
}

// keepLogTime limits the time that a stopping job spends on its log.
const keepLogTime = 5 * time.Second

// openLog creates the log file and keeps it open, so that this file is uploaded later even if the
// module has replaced it.
func (a *Attempt) openLog() (*os.File, error) {
	file, err := os.OpenFile(a.Workspace.log(), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return nil, events.Fail(events.FailureUnavailable, fmt.Errorf("create the log of a module: %w", err))
	}
	return file, nil
}

// keepLog uploads the module's log next to the attempt's manifest, and returns its address. A log
// that can't be uploaded does not fail the job.
func (a *Attempt) keepLog(ctx context.Context, file *os.File) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepLogTime)
	defer cancel()
	place := a.Execution.place(a.Task.Attempt.ID)
	info, err := file.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%s: not a regular file", file.Name())
	default:
		_, err = a.Execution.fenced.Put(ctx, place.Log(), file, info.Size())
	}
	if err != nil {
		a.Execution.Log.WarnContext(ctx, "log of the module not saved", "error", err)
		return ""
	}
	return place.Log().String()
}
