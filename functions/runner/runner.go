package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner/process"
)

// Runner runs modules. Its methods may be called from several goroutines at once.
//
// With Options.Warm it keeps processes of builtin modules started, for jobs whose milliseconds are counted: each one spares a
// job the start of its process, some 15 ms, and holds some 36 MB meanwhile. On Linux such a process serves several assignments,
// of any pipeline, one after another, as long as each ends well: after an error, a limit, or a request to leave it is ended, as
// is one that leaves another process running, that has grown large, or that has served many. Between two jobs its home is
// emptied and its limits are set anew; logs and limits are each job's own. What it keeps is its memory, which is that of
// Stoker's own code alone: modules of others get a process of their own for each assignment, always.
type Runner struct {
	opts       Options
	env        []string
	access     access
	users      users
	files      *fileDigests
	warm       *warmPool
	supervisor *process.Supervisor // of the running processes
	python     *pythonRunner
	cuda       *cudaRunner

	warmRules warmRules // of Python
}

// Options of a Runner.
type Options struct {
	Self     string            // this binary: `<Self> <Args...>` serves builtin modules. Default: os.Executable
	Args     []string          // default: module
	Builtins map[string]string // builtin modules by name, with the constant that stands for their code: dnn -> builtin:dnn@1
	CacheDir string            // where built modules are kept; default: stoker/modules in the user's cache folder
	Warm     int               // processes kept for builtin modules, once one has run; default 0: none, nor for TFX modules. See Runner
	Env      []string          // name=value pairs that modules get besides what allowedEnv lets through
	Python   string            // of TFX modules that name none: an interpreter, or its environment's folder; default: STOKER_PYTHON
	Slots    int               // jobs at once, over which GPUs are shared out; default 1: each job has all of them
	CUDA     string            // the program that trains builtin modules on a GPU; default: STOKER_CUDA, else stoker-cuda beside Self
	Cgroup   string            // to divide among modules, see functions/runner/process: own or a path; default: STOKER_CGROUP
	Logger   *slog.Logger

	// Confine is what the kernel holds modules to, besides memory; nil: what the environment says, STOKER_MODULE_NETWORK=none and so on.
	Confine *process.Confinement

	// Hidden are files and folders that modules can't read where the kernel has Landlock, besides those that usually hold credentials;
	// Writable are those that they write to besides their own.
	Hidden, Writable []string

	// WorkDir is a folder below which the folders of all assignments are. Processes that start before their job is known write there alone,
	// where the kernel has Landlock: those of builtin modules, and those of TFX modules that are kept ready, until they are told their
	// job and write to its folders alone. Default: what starts before its job is known is held to nothing.
	WorkDir string

	// PythonWarm says how processes of TFX modules are kept ready, one of Warmth; default: what suits this machine. With Warm 0
	// there are none.
	PythonWarm string
	// PythonIdle is how long processes of TFX modules stay that no job asks for; 0: ten minutes.
	PythonIdle time.Duration
}

// New returns a Runner, to be closed. It starts nothing, and clears up after hosts whose processes were killed: their
// folders are removed, and what their modules left running is ended.
//
// On Linux it makes this process undumpable: modules are processes of the same user, and could read the worker's
// environment and memory otherwise. It can't be traced and leaves no core any more, for good.
func New(opts Options) (*Runner, error) {
	if opts.Self == "" {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find this binary: %w", err)
		}
		opts.Self = self
	}
	if len(opts.Args) == 0 {
		opts.Args = []string{"module"}
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	h := &Runner{opts: opts, env: append(allowedEnv(os.Environ()), opts.Env...), files: newFileDigests(), warmRules: usualWarmRules()}
	if opts.PythonIdle > 0 {
		h.warmRules.idle = opts.PythonIdle
	}
	if err := process.HideSecrets(); err != nil {
		return nil, err
	}
	var err error
	if h.access, err = newAccess(opts); err != nil {
		return nil, err
	}
	if h.users, err = newUsers(h.access.work, h.cacheDir); err != nil {
		return nil, err
	}
	if h.python, err = newPythonRunner(h); err != nil {
		return nil, err
	}
	h.cuda = &cudaRunner{host: h, gpus: h.python.gpus}
	if h.supervisor, err = process.Open(cmp.Or(opts.Cgroup, os.Getenv(cgroupEnv))); err != nil {
		return nil, err
	}
	if err := errors.Join(h.supervisor.UseUsers(h.users.ids), h.users.reach(h.supervisor.Dir()), h.confine()); err != nil {
		return nil, errors.Join(err, h.supervisor.Close())
	}
	opts.Logger.Info("modules can be started", "memory_limited_by", h.supervisor.LimitedBy(), "users", h.users.ids.String())
	self := program{line: append([]string{opts.Self}, opts.Args...), access: h.access.ofWarm(), ours: true}
	h.warm = newWarmPool(opts.Warm, func() (*child, error) { return h.start(self, h.env) }, opts.Logger)
	return h, nil
}

// confine holds modules to what Options or the environment says.
func (h *Runner) confine() error {
	if h.opts.Confine != nil {
		return h.supervisor.Confine(*h.opts.Confine)
	}
	confinement, err := process.ConfinementFromEnv()
	if err != nil {
		return err
	}
	return h.supervisor.Confine(confinement)
}

// cgroupEnv is the environment's word for Options.Cgroup.
const cgroupEnv = "STOKER_CGROUP"

// Close ends the idle processes and waits for them. Running modules are their callers' to end, before.
func (h *Runner) Close() {
	h.warm.close()
	h.python.warm.close()
	if err := h.supervisor.Close(); err != nil {
		h.opts.Logger.Warn("the homes or cgroups of modules are not removed", "error", err)
	}
}

// Limits bound one run. Zero values mean: no limit.
type Limits struct {
	Timeout     time.Duration
	MemoryBytes int64         // resident, of all processes that the module started, together
	Grace       time.Duration // between the request to leave and the end; default: DefaultGrace
	GPU         bool          // of a builtin module: on a GPU where there is one, else the log says why not
	LogPath     string        // the log is written there, its middle left out where it is long; "": only its tail is kept
	Live        io.Writer     // gets what comes into the log, as it comes; it must not block, nor keep what it gets. nil: nobody

	Reads string // of a check: an absolute folder with the files that it reads; "": none

	Opened func(log io.Writer) // is given the log, for what others have to say in it while Run lasts; nil: nobody has
}

// DefaultGrace is what a module has to leave where nobody says otherwise.
const DefaultGrace = 10 * time.Second

// Outcome tells how a module ended that finished.
type Outcome struct {
	Module      string             // what Digest says of the files and the environment that were run; "" where nothing can have changed them
	Metrics     map[string]float64 // that came with its "done"
	Unwritten   map[string]string  // formats that it could not write, with the reason, as its "done" has them
	Device      string             // what it trained on, module.DeviceGPU or module.DeviceCPU; "" where nobody says
	Settings    json.RawMessage    // what it trained with, as it says: a JSON object; nil where nobody says
	LogTail     string             // the last lines of its log, at most 8 KiB
	LogBytes    int64              // how long the log is, or would be
	MaxRSSBytes int64              // the largest resident size seen of it
}

// Run has a module work on one assignment, a.Module, and returns when no process of it is left, but for one that is kept for
// other assignments. See Runner.
//
// on is called for every progress, checkpoint and study message, from one goroutine at a time, and holds up the module's
// progress while it runs. When ctx ends the module gets SIGTERM, and after the grace time it is killed.
func (h *Runner) Run(ctx context.Context, a module.Assignment, limits Limits, on func(module.Message)) (Outcome, error) {
	code, err := h.find(a.Module)
	if err == nil {
		err = h.check(code.kind, a, limits)
	}
	if err != nil {
		return Outcome{}, err
	}
	return h.handle(a, limits, on, func(e *request) (Outcome, error) { return h.send(ctx, code, e) })
}

// Check has the compiled-in modules' program answer a question about files that others made (module.CallCheck). It runs in a process of
// its own, which is held to what modules are held to, and ends then. Errors are *Errors; one that Check ends with has no LogTail, for
// the files decide what is printed.
func (h *Runner) Check(ctx context.Context, question json.RawMessage, limits Limits) (answer json.RawMessage, err error) {
	a := module.Assignment{
		Version: module.ProtocolVersion, Module: module.Source{Path: module.BuiltinPrefix + "check"}, Call: module.CallCheck, Question: question,
	}
	hear := func(m module.Message) {
		if m.Type == module.MessageAnswer {
			answer = m.Answer
		}
	}
	outcome, err := h.handle(a, limits, hear, func(e *request) (outcome Outcome, err error) {
		if err := ctx.Err(); err != nil {
			return Outcome{}, fail(KindStopped, fmt.Errorf("check files: %w", context.Cause(ctx)))
		}
		self := program{line: append([]string{h.opts.Self}, h.opts.Args...), ours: true}
		if self.access, err = h.access.of(a); err != nil {
			return Outcome{}, err
		}
		if e.process, err = h.start(self, h.env); err != nil {
			return Outcome{}, err
		}
		outcome, _, err = e.run(ctx)
		return outcome, err
	})
	printed := outcome.LogTail
	if failed, ok := errors.AsType[*Error](err); ok {
		printed, failed.LogTail = failed.LogTail, ""
	}
	if printed != "" {
		h.opts.Logger.DebugContext(ctx, "the check of files printed this", "text", printed)
	}
	if err == nil && answer == nil {
		err = fail(KindHost, errors.New("check files: the process gave no answer"))
	}
	return answer, err
}

// check refuses what no process could work on.
func (h *Runner) check(kind codeKind, a module.Assignment, limits Limits) error {
	if err := a.Validate(); err != nil {
		return fail(KindModule, fmt.Errorf("assignment: %w", err))
	}
	if limits.MemoryBytes > 0 && !process.CanMeasureMemory {
		h.opts.Logger.Warn("memory limits hold on Linux only; the module runs without one", "module", a.Module)
	}
	return h.checkStrategy(kind, a)
}

// attend makes an errand of an assignment, with a log, and has it sent.
func (h *Runner) handle(a module.Assignment, limits Limits, on func(module.Message), send func(*request) (Outcome, error)) (Outcome, error) {
	log, err := openLog(limits.LogPath)
	if err != nil {
		return Outcome{}, err
	}
	log.live = limits.Live
	if limits.Opened != nil {
		limits.Opened(log)
	}
	e := &request{assignment: a, limits: limits.withDefaults(), log: log, on: on, mayHold: keptBytes, logger: h.opts.Logger, users: h.users}
	outcome, err := send(e)
	if err := log.close(); err != nil {
		h.opts.Logger.Warn("the log of a module is not whole", "module", a.Module, "error", err)
	}
	return outcome, err
}

// send finds a process for an errand and sees it through.
func (h *Runner) send(ctx context.Context, code code, e *request) (outcome Outcome, err error) {
	if err := ctx.Err(); err != nil {
		return Outcome{}, fail(KindStopped, fmt.Errorf("module %s: %w", e.assignment.Module, context.Cause(ctx)))
	}
	switch code.kind {
	case builtin:
		if e.limits.GPU {
			return h.cuda.send(ctx, e)
		}
		return h.sendWarm(ctx, e)
	case pythonSource:
		return h.python.send(ctx, e)
	}
	program, err := h.program(ctx, code)
	if err != nil {
		return Outcome{}, err
	}
	defer program.close()
	if program.access, err = h.access.of(e.assignment); err != nil {
		return Outcome{}, err
	}
	if e.process, err = h.start(program, append(slices.Clip(h.env), e.assignment.Trace.Environ()...)); err != nil {
		return Outcome{}, err
	}
	outcome, _, err = e.run(ctx)
	return outcome, err
}

// sendWarm is send for a builtin module. An idle process that had left before the assignment reached it is no fault of the
// job's: another one takes its place.
func (h *Runner) sendWarm(ctx context.Context, e *request) (Outcome, error) {
	for {
		p, err := h.warm.take(e.limits.MemoryBytes)
		if err != nil {
			return Outcome{}, err
		}
		e.process, e.again = p, process.CanSeeStrays && h.opts.Warm > 0
		outcome, kept, err := e.run(ctx)
		if kept {
			h.warm.putBack(p)
			return outcome, nil
		}
		h.warm.lost()
		if e.unsent == nil || !p.idled || ctx.Err() != nil {
			return outcome, err
		}
	}
}

func (l Limits) withDefaults() Limits {
	if l.Grace == 0 {
		l.Grace = DefaultGrace
	}
	return l
}
