package runner

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/stoker-ml/stoker/functions/runner/process"
)

// Runner runs modules. Its methods may be called by several goroutines at once.
//
// With Options.Warm it keeps idle processes for builtin modules: each saves a job the start of a
// process, about 15 ms, and holds about 36 MB. On Linux such a process works on several
// assignments, of any pipeline, one after another. It is ended after an error, a limit or a request
// to stop, and also if it leaves another process running, has grown large, or has worked on many
// assignments. Between two assignments its home is emptied and its limits are set anew; logs and
// limits are each assignment's own. It keeps its memory, which is that of Stoker's own code alone:
// modules of others always get a process of their own for each assignment.
type Runner struct {
	opts       Options
	env        []string
	access     access
	users      users
	files      *fileDigests
	sealed     sealedPrograms
	warm       *warmPool
	supervisor *process.Supervisor // of the running processes
	python     *pythonRunner
	cuda       *cudaRunner

	warmRules warmRules // of Python
}

// Options configure a Runner.
type Options struct {
	Self string   // this program: `<Self> <Args...>` serves builtin modules; default: os.Executable
	Args []string // default: module
	// Builtin modules by name, with the constant that identifies their code: dnn -> builtin:dnn@1.
	Builtins map[string]string
	// of built modules and environments; default: stoker/modules in the user's cache directory
	CacheDir string
	// processes kept for builtin modules once one has run, see Runner; default 0: none, for TFX
	// modules neither
	Warm int
	Env  []string // name=value pairs for modules, in addition to what allowedEnv passes on
	// an interpreter, or its environment's directory, for TFX modules that name none; default:
	// STOKER_PYTHON
	Python string
	// jobs at once, among which GPUs are divided; default 1: each job has all of them
	Slots int
	// the program that trains builtin modules on a GPU; default: STOKER_CUDA, else stoker-cuda next
	// to Self
	CUDA string
	// to divide among modules: own or a path, see functions/runner/process; default: STOKER_CGROUP
	Cgroup string
	Logger *slog.Logger

	// Confine limits modules by the kernel, in addition to memory; nil: as the environment says,
	// for example STOKER_MODULE_NETWORK=none.
	Confine *process.Confinement

	// Hidden are files and directories that modules can't read if the kernel has Landlock, in
	// addition to those that usually hold credentials. Writable are those that they may write to in
	// addition to their own.
	Hidden, Writable []string

	// WorkDir is a directory that contains the directories of all assignments. If the kernel has
	// Landlock, processes that start before their job is known write only there: those of builtin
	// modules, and those of TFX modules that are kept ready, until they get their job and write to
	// its directories alone. Default: processes that start before their job is known are not
	// confined.
	WorkDir string

	// PythonWarm is how processes of TFX modules are kept ready, one of Warmth; default: the way
	// that suits this machine. With Warm 0 there are none.
	PythonWarm string
	// PythonIdle is how long a warm process of TFX modules stays without a job; 0: ten minutes.
	PythonIdle time.Duration
}

// New returns a Runner. It starts no process, and cleans up after runners whose processes were
// killed: it removes their directories and ends what their modules left running. The caller closes
// the Runner.
//
// On Linux it makes this process undumpable, permanently: modules are processes of the same user,
// and could otherwise read the worker's environment and memory. The process can't be traced, and
// leaves no core dump.
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
	r := &Runner{opts: opts, env: append(allowedEnv(os.Environ()), opts.Env...), files: newFileDigests(), warmRules: usualWarmRules()}
	if opts.PythonIdle > 0 {
		r.warmRules.idle = opts.PythonIdle
	}
	if err := process.HideSecrets(); err != nil {
		return nil, err
	}
	var err error
	if r.access, err = newAccess(opts); err != nil {
		return nil, err
	}
	if r.users, err = newUsers(r.access.work, r.cacheDir); err != nil {
		return nil, err
	}
	if r.python, err = newPythonRunner(r); err != nil {
		return nil, err
	}
	r.cuda = &cudaRunner{r: r, gpus: r.python.gpus}
	if r.supervisor, err = process.Open(cmp.Or(opts.Cgroup, os.Getenv(cgroupEnv))); err != nil {
		return nil, err
	}
	if err := errors.Join(r.supervisor.UseUsers(r.users.ids), r.users.reach(r.supervisor.Dir()), r.confine()); err != nil {
		return nil, errors.Join(err, r.supervisor.Close())
	}
	opts.Logger.Info("module runner started", "memory_limited_by", r.supervisor.LimitedBy(), "users", r.users.ids.String())
	self := r.self()
	self.access = r.access.ofWarm()
	r.warm = newWarmPool(opts.Warm, func() (*child, error) { return r.start(self, r.env) }, opts.Logger)
	return r, nil
}

// confine applies Options.Confine, or the environment's settings.
func (r *Runner) confine() error {
	if r.opts.Confine != nil {
		return r.supervisor.Confine(*r.opts.Confine)
	}
	confinement, err := process.ConfinementFromEnv()
	if err != nil {
		return err
	}
	return r.supervisor.Confine(confinement)
}

// cgroupEnv names the environment variable for Options.Cgroup.
const cgroupEnv = "STOKER_CGROUP"

// Close ends the idle processes and waits for them. The callers of Run end running modules first.
func (r *Runner) Close() {
	r.warm.close()
	r.python.warm.close()
	r.sealed.close()
	if err := r.supervisor.Close(); err != nil {
		r.opts.Logger.Warn("homes or cgroups of modules not removed", "error", err)
	}
}

// Limits limit one run. A zero value is no limit.
type Limits struct {
	Timeout     time.Duration
	MemoryBytes int64         // resident, of all processes of the module together
	Grace       time.Duration // between the request to stop and the end; default: DefaultGrace
	// a builtin module trains on a GPU if there is one; otherwise the log says why not
	GPU bool
	// the log's file, whose middle is left out if it is long; "": only its tail is kept
	LogPath string
	// gets a copy of the log as it is written; it must not block or retain its argument. nil: none
	Live io.Writer

	Reads string // for a check: an absolute directory with the files that it reads; "": none

	Opened func(log io.Writer) // is given the log, to write to while Run lasts; nil: not called
}

// DefaultGrace is the grace period of Limits that set none.
const DefaultGrace = 10 * time.Second

// Outcome is the result of a module that finished.
type Outcome struct {
	// the digest, as Digest returns it, of the files and the environment that were run; "" if they
	// can't have changed since
	Module  string
	Metrics map[string]float64 // sent with its "done"
	// Formats that it could not write, with the reason, from its "done".
	Unwritten map[string]string
	// The device that it trained on: module.DeviceGPU or module.DeviceCPU; "" if unknown.
	Device   string
	Platform Platform // what it ran on, as far as that is known
	// the settings that it reports to have trained with: a JSON object; nil if it reports none
	Settings    json.RawMessage
	LogTail     string // the last lines of its log, at most 8 KiB
	LogBytes    int64  // the size of the whole log, including the part that was left out
	MaxRSSBytes int64  // its largest resident size observed
}

// Platform is what a module ran on.
type Platform struct {
	// Versions of Python and of packages, of a TFX module. Keras is the one that was chosen.
	Python, TensorFlow, Keras string
	GPU                       string   // the name of the GPU, of a builtin module on one
	GPUs                      []string // devices that the module could use, as CUDA names them
}

// Kind classifies why a module did not finish.
type Kind string

// The kinds.
const (
	// the module reports bad data, or does not exist: a retry does not help
	KindInput Kind = "input"
	// the module raised, could not be built, or exited without reporting that it was done
	KindModule    Kind = "module"
	KindCrash     Kind = "crash"     // a signal that the runner did not send ended it
	KindResources Kind = "resources" // over its memory or its time
	KindStopped   Kind = "stopped"   // ctx ended; its cause is in the chain
	// a fault of this machine, not the module's: a full disk, no free process
	KindHost Kind = "host"
)

// Error is the error of Run and Digest.
type Error struct {
	Kind    Kind
	Err     error
	LogTail string // the last lines of the module's log, if it ran
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

func fail(kind Kind, err error) error { return &Error{Kind: kind, Err: err} }
