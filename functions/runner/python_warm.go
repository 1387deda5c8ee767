package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner/process"
	"github.com/stoker-ml/stoker/functions/runner/python"
)

// How processes of TFX modules are kept ready: Options.PythonWarm.
const (
	WarmFork = "fork" // one process imports, and forks a child for each job; Linux only. The default where no GPU is visible
	WarmIdle = "idle" // as many as Warm import and wait, each for one job. The default where a GPU is: its driver forbids forks
	WarmOff  = "off"  // every job imports for itself
)

// Warmth are the values of Options.PythonWarm.
func Warmth() []string { return []string{WarmFork, WarmIdle, WarmOff} }

// warmRules bound how long a warm process is waited for and kept.
type warmRules struct {
	patience time.Duration // of a job, for a fork server's imports; it starts cold after that
	idle     time.Duration // until a kind of process that no job has asked for is ended: its memory is others'
	retry    time.Duration // until imports that failed are tried again
	stuck    time.Duration // a forked child that shows no life for so long is ended, and its job starts cold
	most     int           // children of one fork server
}

func usualWarmRules() warmRules {
	return warmRules{patience: 2 * time.Minute, idle: 10 * time.Minute, retry: 5 * time.Minute, stuck: time.Minute, most: 1000}
}

// pythonKind is what two jobs must have in common to be served by the same imports.
type pythonKind struct {
	environment python.Environment
	env         []string // of the process
}

func (k pythonKind) command(mode python.Mode) []string { return k.environment.Command(mode) }

// key holds the digest beside the command and its environment: packages change in place.
func (k pythonKind) key() string {
	return strings.Join(slices.Concat(k.command(""), []string{k.environment.Digest}, k.env), "\x00")
}

// vain is why processes of a kind are of no use: another one would do no better, and cost each job its imports.
type vain struct {
	reason error
	at     time.Time
}

// warmProcesses has processes ready that have imported what modules need. take says why there is none: a process of the job's own
// does as well, only later. It may wait for imports that have begun.
type warmProcesses interface {
	take(ctx context.Context, kind pythonKind) (*child, error)
	giveUp(kind pythonKind, reason error) // processes of this kind are of no use for a while
	close()
}

// newWarmProcesses chooses the way. Where no second job comes, or none shall be kept, there is none.
func newWarmProcesses(h *Runner, gpus bool) (warmProcesses, error) {
	way := h.opts.PythonWarm
	if way != "" && !slices.Contains(Warmth(), way) {
		return nil, fmt.Errorf("warm Python processes: %q: expected one of %s", way, strings.Join(Warmth(), ", "))
	}
	if way == WarmFork && !canFork {
		return nil, errors.New("warm Python processes: fork is for Linux only; idle works here")
	}
	byDefault := WarmFork
	if gpus || !canFork {
		byDefault = WarmIdle
	}
	switch way = cmp.Or(way, byDefault); {
	case way == WarmOff || h.opts.Warm == 0:
		return coldProcesses{}, nil
	case way == WarmFork:
		return newForkPool(h, h.warmRules), nil
	default:
		return newIdlePool(h, h.warmRules), nil
	}
}

// coldProcesses has none.
type coldProcesses struct{}

var errCold = errors.New("no process is kept warm")

func (coldProcesses) take(context.Context, pythonKind) (*child, error) { return nil, errCold }
func (coldProcesses) giveUp(pythonKind, error)                         {}
func (coldProcesses) close()                                           {}

// startPython starts a process in one of the driver's modes.
func (h *Runner) startPython(kind pythonKind, mode python.Mode, access *process.Access) (*child, error) {
	return h.start(program{line: kind.command(mode), access: access}, kind.env)
}

// startIdle starts a process that imports, and waits for a job, which it enters the sandbox of.
func (h *Runner) startIdle(kind pythonKind) (*child, error) {
	c, err := h.startPython(kind, python.ModeIdle, h.access.ofWarm())
	if err == nil {
		c.access = nil
	}
	return c, err
}

// work sees an errand through, in a warm process where there is one.
func (p *pythonRunner) work(ctx context.Context, e *request, r prepared, source module.Source) (Outcome, error) {
	gpus := p.gpus.take()
	defer p.gpus.giveBack(gpus)
	kind := r.kind(p.host.env)
	access, err := p.host.access.of(e.assignment)
	if err != nil {
		return Outcome{}, err
	}
	run := func(c *child) (Outcome, error) {
		own := r
		var err error
		if own.files, err = r.files.CopyTo(ctx, c.Files()); err != nil {
			c.End()
			return Outcome{}, fail(fault(ctx, err), fmt.Errorf("module %s: %w", e.assignment.Module, err))
		}
		if err := p.host.users.lend(c.User, c.Files()); err != nil {
			c.End()
			return Outcome{}, fail(KindHost, fmt.Errorf("module %s: hand its files to its user: %w", e.assignment.Module, err))
		}
		line := own.setup(source, c.Home)
		if access != nil && c.access == nil { // one that was started before the job was known
			if sandbox := access.Sandbox(c.Home); sandbox != nil {
				sandbox.SpareThreads = p.host.access.warmAny
				line.Sandbox = sandbox
			}
		}
		gpus.tell(line.Env)
		e.process, e.setup = c, line
		outcome, _, err := e.run(ctx)
		return asTheirs(own.files, outcome, err)
	}
	began := time.Now()
	c, err := p.warmFor(ctx, e.assignment, source, kind)
	if err == nil {
		own := e.own
		e.stuckAfter, e.own = p.host.warmRules.stuck, append(slices.Clip(own), kindThreads)
		outcome, err := run(c)
		e.stuckAfter, e.own = 0, own
		if ctx.Err() != nil || !e.blameless(err) {
			return outcome, err
		}
		if hasThreads(err) {
			p.warm.giveUp(kind, fmt.Errorf("%w: %w (%s=any allows it)", errCold, errors.Unwrap(err), warmEnv))
		}
		if err := p.goCold(e, cmp.Or(e.unsent, err), time.Since(began)); err != nil {
			return outcome, err
		}
	} else if !errors.Is(err, errCold) && ctx.Err() == nil {
		p.host.opts.Logger.Warn("a TFX module starts cold", "module", e.assignment.Module, "reason", err)
	}
	if ctx.Err() != nil {
		return Outcome{}, fail(KindStopped, fmt.Errorf("module %s: %w", e.assignment.Module, context.Cause(ctx)))
	}
	if c, err = p.host.startPython(kind, python.ModeJob, access); err != nil {
		return Outcome{}, err
	}
	return run(c)
}

// warmFor takes a warm process for a job. One that only starts others and sees to them needs no imports.
func (p *pythonRunner) warmFor(ctx context.Context, a module.Assignment, source module.Source, kind pythonKind) (*child, error) {
	if a.Workers > 1 {
		return nil, errCold
	}
	if err := p.host.access.foreign(source, p.byDefault()); err != nil {
		return nil, err
	}
	if within := p.host.access.ofWarm(); !covers(within, a) {
		return nil, fmt.Errorf("its folders are not below %s", p.host.access.work)
	}
	return p.warm.take(ctx, kind)
}

// blameless says whether how a warm process ended is no fault of its job: it had left before the job reached it, hung, or could not
// enter the job's sandbox.
func (e *request) blameless(err error) bool {
	return e.unsent != nil || errors.Is(err, errStuck) || hasThreads(err)
}

// kindThreads is what a warm process says instead of running its job if its imports have started threads that would stay outside the
// job's sandbox. A module that says so starts again, cold.
const kindThreads module.ErrorKind = "threads"

func hasThreads(err error) bool {
	failed, ok := errors.AsType[*Error](err)
	return ok && failed.Kind == Kind(kindThreads)
}

// goCold makes an errand as new for a process of its own.
func (p *pythonRunner) goCold(e *request, reason error, spent time.Duration) error {
	p.host.opts.Logger.Warn("a TFX module starts again, cold", "module", e.assignment.Module, "reason", reason)
	e.note("the warm process is given up (%v): the module starts again in one of its own", reason)
	if e.limits.Timeout > 0 {
		e.limits.Timeout = max(e.limits.Timeout-spent, time.Millisecond)
	}
	if err := removeOutputs(e.assignment); err != nil {
		return fail(KindHost, fmt.Errorf("module %s: remove what a first try left: %w", e.assignment.Module, err))
	}
	return nil
}
