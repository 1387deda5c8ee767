package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner/process"
	"github.com/stoker-ml/stoker/functions/runner/python"
)

// Run has a module work on one assignment, a.Module, and returns when no process of it is left,
// except one that is kept for other assignments (see Runner). The path from here to the start of
// the process is this file, from top to bottom.
//
// on is called for each progress, checkpoint and study message, from one goroutine at a time; the
// module's progress waits while it runs. When ctx ends, the module gets SIGTERM; after the grace
// period it is killed.
func (r *Runner) Run(ctx context.Context, a module.Assignment, limits Limits, on func(module.Message)) (Outcome, error) {
	code, err := r.find(a.Module)
	if err == nil {
		err = r.validate(code.kind, a, limits)
	}
	if err != nil {
		return Outcome{}, err
	}
	return r.handle(ctx, request{assignment: a, limits: limits, on: on}, r.strategy(code, limits))
}

// strategy is a way to run a request in child processes. Some retry a request with another
// strategy, or pass it on.
type strategy interface {
	run(ctx context.Context, q request) (Outcome, error)
}

// strategy chooses how a request is run: by the kind of module, by what the request asks for, and
// by the settings.
//
//	a builtin module            a warm process, used again for other requests
//	  that asks for a GPU       a process of the CUDA program; without a GPU, as above
//	a program, or Go source     a process of its own
//	a TFX module                prepared first; then, unless its Keras is certain, with one Keras
//	                            and perhaps the other: a process that has imported TensorFlow (a
//	                            fork, or a waiting one), else a new process
//
// Several workers of a TFX module are one process here: its driver starts the others. A Session is
// a strategy of its own.
func (r *Runner) strategy(code code, limits Limits) strategy {
	warm := warmProcess{r}
	switch {
	case code.kind == pythonSource:
		return tfxModule{r.python}
	case code.kind == builtin && limits.GPU:
		return onGPU{r.cuda, warm}
	case code.kind == builtin:
		return warm
	default:
		return ownProcess{r, code}
	}
}

// handle opens the log of a request, and runs it.
func (r *Runner) handle(ctx context.Context, q request, s strategy) (Outcome, error) {
	log, err := openLog(q.limits.LogPath)
	if err != nil {
		return Outcome{}, err
	}
	log.live = q.limits.Live
	if q.limits.Opened != nil {
		q.limits.Opened(log)
	}
	q.log, q.limits.Grace = log, cmp.Or(q.limits.Grace, DefaultGrace)
	var outcome Outcome
	if err = q.stopped(ctx); err == nil {
		outcome, err = s.run(ctx, q)
	}
	if err := log.close(); err != nil {
		r.opts.Logger.Warn("log of a module incomplete", "module", q.assignment.Module, "error", err)
	}
	return outcome, err
}

// ownProcess starts a process of a program for one request. Source is built first.
type ownProcess struct {
	r    *Runner
	code code
}

func (s ownProcess) run(ctx context.Context, q request) (Outcome, error) {
	p, err := s.r.startCode(ctx, s.code, q)
	if err != nil {
		return Outcome{}, err
	}
	return s.r.exchange(q, p).runOnce(ctx)
}

// ownBinary starts a process of this binary for one check of files.
type ownBinary struct{ r *Runner }

func (s ownBinary) run(ctx context.Context, q request) (Outcome, error) {
	self := s.r.self()
	var err error
	if self.access, err = s.r.access.of(q.assignment); err != nil {
		return Outcome{}, err
	}
	p, err := s.r.start(self, s.r.env)
	if err != nil {
		return Outcome{}, err
	}
	return s.r.exchange(q, p).runOnce(ctx)
}

// warmProcess runs requests for builtin modules, of any pipeline, in the processes of a pool. An
// idle process that had exited before it read the assignment is not the module's fault: another one
// takes its place.
type warmProcess struct{ r *Runner }

func (s warmProcess) run(ctx context.Context, q request) (Outcome, error) {
	for {
		p, err := s.r.warm.take(q.limits.MemoryBytes)
		if err != nil {
			return Outcome{}, err
		}
		x := s.r.exchange(q, p)
		x.reuse = reuse{on: process.CanSeeStrays && s.r.opts.Warm > 0, maxBytes: keptBytes}
		outcome, kept, err := x.run(ctx)
		if kept {
			s.r.warm.putBack(p)
			return outcome, nil
		}
		s.r.warm.lost()
		if x.unsent == nil || !p.idled || ctx.Err() != nil {
			return outcome, err
		}
	}
}

// onGPU runs a builtin module in a process of the CUDA program, with a share of the GPUs, if there
// is a GPU.
type onGPU struct {
	cuda   *cudaRunner
	orElse strategy
}

func (s onGPU) run(ctx context.Context, q request) (Outcome, error) {
	path, line := s.cuda.find()
	fmt.Fprintln(q.log, line)
	if path == "" {
		q.device = module.DeviceCPU
		return s.orElse.run(ctx, q)
	}
	q.device = module.DeviceGPU
	share := s.cuda.gpus.take()
	defer s.cuda.gpus.giveBack(share)
	p, err := s.cuda.start(path, share)
	if err != nil {
		return Outcome{}, err
	}
	outcome, err := s.cuda.r.exchange(q, p).runOnce(ctx)
	outcome.Platform = Platform{GPU: s.cuda.device, GPUs: share.devices}
	return outcome, err
}

// tfxModule prepares a TFX module (tfx.go), and runs it with a share of the GPUs.
type tfxModule struct{ python *pythonRunner }

func (s tfxModule) run(ctx context.Context, q request) (Outcome, error) {
	job, err := s.python.job(ctx, q)
	if err != nil {
		return Outcome{}, err
	}
	job.gpus = s.python.gpus.take()
	defer s.python.gpus.giveBack(job.gpus)
	outcome, err := eitherKeras{job}.run(ctx, q)
	outcome.Module = job.digest
	return outcome, err
}

// eitherKeras runs a TFX module with the Keras that was chosen for it, and once more with the other
// one if the module needs that one and none was named.
type eitherKeras struct{ job tfxJob }

func (s eitherKeras) run(ctx context.Context, q request) (Outcome, error) {
	job, began := s.job, time.Now()
	outcome, err := onceImported{job}.run(ctx, q)
	outcome.Platform = job.platform()
	first := needsOtherKeras(err)
	if first == nil {
		return outcome, err
	}
	if !job.keras.open {
		return outcome, asModules(first)
	}
	job.keras = job.keras.other("found by trying the other one")
	q.note("the module needs Keras %s and starts again with it; what it has written is removed", job.keras.Version)
	if err := q.startOver(job.keras, time.Since(began)); err != nil {
		return outcome, err
	}
	outcome, err = onceImported{job}.run(ctx, q)
	outcome.Platform = job.platform()
	if second := needsOtherKeras(err); second != nil {
		second.Err = fmt.Errorf("%w; and with the other Keras before: %w", second.Err, first.Err)
		return outcome, asModules(second)
	}
	job.python.keep(job.kerasKey(job.source, q.assignment.Call), job.keras)
	return outcome, err
}

// onceImported runs a TFX module in a warm process, which has imported TensorFlow: a child of a
// fork server, or a process that has waited. If there is none, or if it fails in a way that is not
// the module's fault, the module runs in a process of its own.
type onceImported struct{ job tfxJob }

func (s onceImported) run(ctx context.Context, q request) (Outcome, error) {
	job, python := s.job, s.job.python
	q.note("%s", job.keras.line(job.environment))
	access, err := python.r.access.of(q.assignment)
	if err != nil {
		return Outcome{}, err
	}
	cold := coldPython{job, access}
	p, err := python.takeWarm(ctx, q.assignment, job)
	if err != nil {
		if !errors.Is(err, errCold) && ctx.Err() == nil {
			python.r.opts.Logger.Warn("TFX module starts without a warm process", "module", q.assignment.Module, "reason", err)
		}
		return cold.run(ctx, q)
	}
	began := time.Now()
	x, err := job.exchange(ctx, q, p, access)
	if err != nil {
		return Outcome{}, err
	}
	x.stuckAfter, x.ownKinds = python.r.warmRules.stuck, append(x.ownKinds, kindThreads)
	outcome, err := x.runOnce(ctx)
	if ctx.Err() != nil || !x.blameless(err) {
		return outcome, err
	}
	if hasThreads(err) {
		python.warm.giveUp(job.kind(), fmt.Errorf("%w: %w (%s=any allows it)", errCold, errors.Unwrap(err), warmEnv))
	}
	if err := q.startCold(python.r.opts.Logger, cmp.Or(x.unsent, err), time.Since(began)); err != nil {
		return outcome, err
	}
	return cold.run(ctx, q)
}

// coldPython runs a TFX module in a process of its own, which imports what the module needs.
type coldPython struct {
	job    tfxJob
	access *process.Access
}

func (s coldPython) run(ctx context.Context, q request) (Outcome, error) {
	if err := q.stopped(ctx); err != nil {
		return Outcome{}, err
	}
	p, err := s.job.python.r.startPython(s.job.kind(), python.ModeJob, s.access)
	if err != nil {
		return Outcome{}, err
	}
	x, err := s.job.exchange(ctx, q, p, s.access)
	if err != nil {
		return Outcome{}, err
	}
	return x.runOnce(ctx)
}

// child is a process that works on assignments.
type child struct {
	*process.Process

	// the module's, as Runner.Digest returns it; "" if it can't have changed since
	digest string
	// Access that it was started with for one job; nil: none, or it enters a sandbox when it gets
	// its job.
	access  *process.Access
	handled int  // number of assignments that it has worked on
	idled   bool // it has waited for an assignment, and may have exited meanwhile

	checked time.Time // when it was last checked for processes that it left running
	// How long that check took, which is long on a machine with many processes.
	checkTook time.Duration
}

// startCode starts a program, or one that is built from source, for one request.
func (r *Runner) startCode(ctx context.Context, code code, q request) (*child, error) {
	program, err := r.program(ctx, code)
	if err != nil {
		return nil, err
	}
	defer program.close()
	if program.access, err = r.access.of(q.assignment); err != nil {
		return nil, err
	}
	return r.start(program, append(slices.Clip(r.env), q.assignment.Trace.Environ()...))
}

// startPython starts the driver of TFX modules in one of its modes.
func (r *Runner) startPython(kind pythonKind, mode python.Mode, access *process.Access) (*child, error) {
	return r.start(program{line: kind.command(mode), access: access}, kind.env)
}

// self returns this binary, which runs builtin modules.
func (r *Runner) self() program {
	return program{line: slices.Concat([]string{r.opts.Self}, r.opts.Args), ours: true}
}

// start starts a program, which then waits for its standard input.
func (r *Runner) start(p program, env []string) (*child, error) {
	sealed, err := r.executable(p)
	if err != nil {
		return nil, fail(KindHost, err)
	}
	if sealed != nil && p.sealed == nil {
		defer sealed.Close()
	}
	if p.ours {
		env = append(slices.Clip(env), module.LateGC(env)...)
	}
	running, err := r.supervisor.Start(process.Command{Line: p.line, Env: withProgress(env), Program: sealed, Access: p.access})
	if err != nil {
		return nil, fail(KindHost, err)
	}
	return &child{Process: running, digest: p.digest, access: p.access}, nil
}

// executable returns the file to execute instead of a program's path; nil: the path itself. Users
// of modules need no access to the path of Stoker's own programs.
func (r *Runner) executable(p program) (*os.File, error) {
	switch {
	case p.sealed != nil || !r.users.on():
		return p.sealed, nil
	case p.ours:
		return os.Open(p.line[0])
	default:
		return nil, r.users.reach(p.line[0])
	}
}

// withProgress adds to env the number of the descriptor for progress messages.
func withProgress(env []string) []string {
	return append(slices.Clip(env), module.ProgressEnv+"="+strconv.Itoa(process.ProgressFD))
}

// Check has the program of the builtin modules answer a question about files that others made
// (module.CallCheck), in a process of its own, confined as modules are. Errors are *Error values
// without LogTail: the files decide what is printed.
func (r *Runner) Check(ctx context.Context, question json.RawMessage, limits Limits) (answer json.RawMessage, err error) {
	a := module.Assignment{
		Version: module.ProtocolVersion, Module: module.Source{Path: module.BuiltinPrefix + "check"}, Call: module.CallCheck, Question: question,
	}
	hear := func(m module.Message) {
		if m.Type == module.MessageAnswer {
			answer = m.Answer
		}
	}
	outcome, err := r.handle(ctx, request{assignment: a, limits: limits, on: hear}, ownBinary{r})
	printed := outcome.LogTail
	if failed, ok := errors.AsType[*Error](err); ok {
		printed, failed.LogTail = failed.LogTail, ""
	}
	if printed != "" {
		r.opts.Logger.DebugContext(ctx, "output of a check of files", "text", printed)
	}
	if err == nil && answer == nil {
		err = fail(KindHost, errors.New("check files: the process did not answer"))
	}
	return answer, err
}

// validate refuses an assignment that no process could work on.
func (r *Runner) validate(kind codeKind, a module.Assignment, limits Limits) error {
	if err := a.Validate(); err != nil {
		return fail(KindModule, fmt.Errorf("assignment: %w", err))
	}
	if limits.MemoryBytes > 0 && !process.CanMeasureMemory {
		r.opts.Logger.Warn("memory limits need Linux; the module runs without one", "module", a.Module)
	}
	return r.checkStrategy(kind, a)
}
