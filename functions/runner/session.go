package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner/process"
)

// Session has one module work on many assignments one after another, such as the trials of a study,
// in one process if possible: the module may keep what it has read and built for one assignment for
// the next. It is for one goroutine at a time.
//
// The process continues while its assignments succeed. It is ended after an error, a limit or a
// request to stop, and also if it left another process running, grew to half of its memory limit,
// or has worked on many assignments. The next assignment then gets a new process, which its caller
// does not notice. Between two assignments the process's home is emptied; limits and logs are each
// assignment's own. TFX modules get a process for each assignment, as do all modules on a system
// that can't know which processes one has left running.
type Session struct {
	r      *Runner
	source module.Source
	code   code
	idle   *child    // waits for the next assignment; nil: none does
	gpu    *gpuShare // a builtin module's share, if it has one
	asked  bool      // whether it has asked for a GPU
}

// strayCheck is how often a session checks for processes that its own has left running: a check
// takes as long as many trials.
const strayCheck = time.Second

// Open finds a module, and builds it if necessary. It starts no process. Close the session before
// its Runner.
func (r *Runner) Open(ctx context.Context, source module.Source) (*Session, error) {
	code, err := r.find(source)
	if err == nil && code.kind == goSource {
		var built program
		built, err = r.program(ctx, code)
		built.close()
	}
	if err != nil {
		return nil, err
	}
	return &Session{r: r, source: source, code: code}, nil
}

// Close ends the waiting process, if there is one, and waits for it. A builtin module's process
// goes back to the pool.
func (s *Session) Close() {
	p := s.idle
	s.idle = nil
	if s.gpu != nil {
		defer s.r.cuda.gpus.giveBack(*s.gpu)
	}
	switch {
	case p == nil:
	case s.code.kind != builtin || s.gpu != nil:
		p.End()
	case grown(p):
		s.r.warm.lost()
		p.End()
	default:
		s.r.warm.putBack(p)
	}
}

// grown reports whether a process holds more memory than one may that serves any job.
func grown(p *child) bool {
	resident, _ := p.ResidentBytes()
	return resident > keptBytes
}

// Run is Runner.Run for an assignment of the session's module.
func (s *Session) Run(ctx context.Context, a module.Assignment, limits Limits, on func(module.Message)) (Outcome, error) {
	if a.Module.Path != s.source.Path {
		return Outcome{}, fail(KindModule, fmt.Errorf("assignment: module %s in a session of module %s", a.Module, s.source))
	}
	if err := s.r.validate(s.code.kind, a, limits); err != nil {
		return Outcome{}, err
	}
	var way strategy = keptProcess{s}
	if s.code.kind == pythonSource {
		way = s.r.strategy(s.code, limits)
	}
	return s.r.handle(ctx, request{assignment: a, limits: limits, on: on}, way)
}

// keptProcess runs a request in the process that a session keeps. If a process that has served
// other requests exited before this assignment reached it (as a program may that handles a single
// assignment), that is not the module's fault: another process replaces it.
type keptProcess struct{ s *Session }

func (k keptProcess) run(ctx context.Context, q request) (Outcome, error) {
	s := k.s
	s.askForGPU(q)
	for {
		if err := q.stopped(ctx); err != nil {
			return Outcome{}, err
		}
		p, err := s.take(ctx, q)
		if err != nil {
			return Outcome{}, err
		}
		x := s.r.exchange(q, p)
		x.reuse = reuse{on: process.CanSeeStrays, maxBytes: q.limits.MemoryBytes / 2, checkEvery: strayCheck}
		outcome, kept, err := x.run(ctx)
		if s.gpu != nil {
			outcome.Platform = Platform{GPU: s.r.cuda.device, GPUs: s.gpu.devices}
		}
		if kept {
			p.idled = true
			s.idle = p
			return outcome, nil
		}
		s.lost()
		if !p.idled || err == nil || x.unsent == nil && !x.unread {
			return outcome, err
		}
	}
}

// askForGPU takes a share of the GPUs for the session if its first assignment asks for one and
// there is one, and writes that to the assignment's log.
func (s *Session) askForGPU(q request) {
	if s.code.kind != builtin || !q.limits.GPU || s.asked {
		return
	}
	s.asked = true
	path, line := s.r.cuda.find()
	fmt.Fprintln(q.log, line)
	if path != "" {
		share := s.r.cuda.gpus.take()
		s.gpu, s.code.path = &share, path
	}
}

// take returns a process that waits for an assignment: the session's own if it can work on this
// one.
func (s *Session) take(ctx context.Context, q request) (*child, error) {
	p, limit := s.idle, q.limits.MemoryBytes
	s.idle = nil
	switch {
	case p != nil && p.ready(limit) && covers(p.access, q.assignment):
		return p, nil
	case p != nil:
		p.End()
		s.lost()
	}
	switch {
	case s.gpu != nil:
		return s.r.cuda.start(s.code.path, *s.gpu)
	case s.code.kind == builtin:
		return s.r.warm.take(limit)
	default:
		q.assignment.Trace = nil // the process outlives the assignment
		return s.r.startCode(ctx, s.code, q)
	}
}

// lost reports to the pool that a process has ended.
func (s *Session) lost() {
	if s.code.kind == builtin && s.gpu == nil {
		s.r.warm.lost()
	}
}
