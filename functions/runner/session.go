package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner/process"
)

// Session has one module work on many assignments, such as the trials of a study, one after another, in one process as long as that
// lasts: what the module has read and built for one it may keep for the next. It is for one goroutine at a time.
//
// A process serves on after an assignment that ended well. After an error, a limit or a request to leave it has ended, as it has where it
// left another process running, grew to half of its memory limit, or has served many; the next assignment gets a new one
// then, and its caller sees nothing of it. Between two assignments the process's home is emptied; limits and logs are
// each assignment's own. TFX modules get a process for each assignment, and so do all where Linux doesn't tell what a process has
// left running.
type Session struct {
	host   *Runner
	source module.Source
	code   code
	idle   *child    // waits for the next assignment; nil: none does
	gpu    *gpuShare // of a builtin module that has one
	asked  bool      // for a GPU
}

// strayLook is how often a session looks for processes that its own has left running: to look costs as much as many a trial.
const strayLook = time.Second

// Open finds a module, and builds it where it has to be. It starts nothing. The session is to be closed before its Runner.
func (h *Runner) Open(ctx context.Context, source module.Source) (*Session, error) {
	code, err := h.find(source)
	if err == nil && code.kind == goSource {
		var built program
		built, err = h.program(ctx, code)
		built.close()
	}
	if err != nil {
		return nil, err
	}
	return &Session{host: h, source: source, code: code}, nil
}

// Close ends the process that waits, if there is one, and waits for it. That of a builtin module may serve others.
func (s *Session) Close() {
	p := s.idle
	s.idle = nil
	if s.gpu != nil {
		defer s.host.cuda.gpus.giveBack(*s.gpu)
	}
	switch {
	case p == nil:
	case s.code.kind != builtin || s.gpu != nil:
		p.End()
	case grown(p):
		s.host.warm.lost()
		p.End()
	default:
		s.host.warm.putBack(p)
	}
}

// grown says whether a process holds more than one may that serves any job.
func grown(p *child) bool {
	resident, _ := p.ResidentBytes()
	return resident > keptBytes
}

// Run is Runner.Run for an assignment of the session's module.
func (s *Session) Run(ctx context.Context, a module.Assignment, limits Limits, on func(module.Message)) (Outcome, error) {
	if a.Module.Path != s.source.Path {
		return Outcome{}, fail(KindModule, fmt.Errorf("assignment: module %s in a session of module %s", a.Module, s.source))
	}
	if err := s.host.check(s.code.kind, a, limits); err != nil {
		return Outcome{}, err
	}
	return s.host.handle(a, limits, on, func(e *request) (Outcome, error) {
		if s.code.kind == pythonSource {
			return s.host.send(ctx, s.code, e)
		}
		s.askForGPU(e)
		e.again, e.mayHold, e.mayStray = process.CanSeeStrays, limits.MemoryBytes/2, strayLook
		return s.send(ctx, e)
	})
}

// askForGPU takes a share of the GPUs for the session, where its first assignment wants one and there is one, and tells that one's log.
func (s *Session) askForGPU(e *request) {
	if s.code.kind != builtin || !e.limits.GPU || s.asked {
		return
	}
	s.asked = true
	path, says := s.host.cuda.find()
	fmt.Fprintln(e.log, says)
	if path != "" {
		share := s.host.cuda.gpus.take()
		s.gpu, s.code.path = &share, path
	}
}

// send sees an errand through. A process that has served and has left before this assignment reached it, as one may that only ever
// serves one, is no fault of the assignment's: another takes its place.
func (s *Session) send(ctx context.Context, e *request) (Outcome, error) {
	for {
		if err := ctx.Err(); err != nil {
			return Outcome{}, fail(KindStopped, fmt.Errorf("module %s: %w", s.source, context.Cause(ctx)))
		}
		p, err := s.take(ctx, e)
		if err != nil {
			return Outcome{}, err
		}
		e.process = p
		outcome, kept, err := e.run(ctx)
		if kept {
			p.idled = true
			s.idle = p
			return outcome, nil
		}
		s.lost()
		if !p.idled || err == nil || e.unsent == nil && !e.unread {
			return outcome, err
		}
	}
}

// take has a process that waits for an assignment, the session's own if that can work on it.
func (s *Session) take(ctx context.Context, e *request) (*child, error) {
	p, limit := s.idle, e.limits.MemoryBytes
	s.idle = nil
	switch {
	case p != nil && p.ready(limit) && covers(p.access, e.assignment):
		return p, nil
	case p != nil:
		p.End()
		s.lost()
	}
	if s.gpu != nil {
		return s.host.cuda.start(s.code.path, *s.gpu)
	}
	if s.code.kind == builtin {
		return s.host.warm.take(limit)
	}
	program, err := s.host.program(ctx, s.code)
	if err != nil {
		return nil, err
	}
	defer program.close()
	if program.access, err = s.host.access.of(e.assignment); err != nil {
		return nil, err
	}
	return s.host.start(program, s.host.env)
}

// lost tells of a process that has ended.
func (s *Session) lost() {
	if s.code.kind == builtin && s.gpu == nil {
		s.host.warm.lost()
	}
}
