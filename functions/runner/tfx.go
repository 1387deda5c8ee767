package runner

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner/process"
	"github.com/stoker-ml/stoker/functions/runner/python"
	"github.com/stoker-ml/stoker/functions/runner/snapshot"
)

// PythonEnv names the environment variable with the Python interpreter that has TensorFlow.
const PythonEnv = "STOKER_PYTHON"

// pythonRunner prepares TFX modules: it finds the environment, copies the module's files, and
// chooses the Keras.
type pythonRunner struct {
	r     *Runner
	gpus  *gpuShares
	warm  warmProcesses
	keras *kerasCache
}

func newPythonRunner(r *Runner) (p *pythonRunner, err error) {
	p = &pythonRunner{r: r, gpus: newGPUShares(r.opts.Slots), keras: &kerasCache{known: map[string]kerasChoice{}}}
	if cache, err := r.cacheDir(); err == nil {
		p.keras.dir = filepath.Join(cache, "keras")
	}
	p.warm, err = newWarmProcesses(r, p.gpus.any())
	return p, err
}

// prepared is what a TFX module needs to run.
type prepared struct {
	environment python.Environment
	layout      python.Layout
	files       snapshot.Snapshot
}

// prepare prepares a module. names are those that the pipeline gives to the functions that may be
// called.
func (p *pythonRunner) prepare(ctx context.Context, source module.Source, names ...string) (prepared, error) {
	cache, err := p.r.cacheDir()
	if err != nil {
		return prepared{}, err
	}
	var ready prepared
	if ready.files, err = snapshot.Take(ctx, filepath.Join(cache, "python"), source.Path); err != nil {
		return prepared{}, fail(filesFault(ctx, err), err)
	}
	if err := callable(ready.files, names...); err != nil {
		return prepared{}, err
	}
	if ready.layout, err = python.Lay(cache); err != nil {
		return prepared{}, fail(KindHost, fmt.Errorf("write the Python driver: %w", err))
	}
	ready.environment, err = python.Find(ctx, python.Options{
		Named: source.Python, Default: p.byDefault(), Requirements: source.Requirements, CacheDir: cache, Logger: p.r.opts.Logger, By: p.r.runPython,
	})
	if err != nil {
		return prepared{}, fail(environmentFault(ctx, err), err)
	}
	return ready, nil
}

// callable returns an error if it is ambiguous which of the module's files is meant. A dotted name
// of a function also names the file.
func callable(files snapshot.Snapshot, names ...string) error {
	dotted := func(name string) bool { return strings.Contains(name, ".") }
	if err := files.Ambiguous(); err != nil && !slices.ContainsFunc(names, dotted) {
		return fail(KindInput, err)
	}
	return nil
}

// environmentFault returns the kind of an error of an environment. A full disk is not the
// pipeline's fault.
func environmentFault(ctx context.Context, err error) Kind {
	full := errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) ||
		strings.Contains(err.Error(), "No space left on device") // as an installer prints it
	switch {
	case ctx.Err() != nil:
		return KindStopped
	case full:
		return KindHost
	}
	return KindInput
}

// filesFault returns the kind of an error of a module's files.
func filesFault(ctx context.Context, err error) Kind {
	if _, ok := errors.AsType[*snapshot.Invalid](err); ok {
		return KindInput
	}
	return hostFault(ctx)
}

// digest returns the SHA-256 of all that decides the results of a TFX module besides its data: its
// files, the packages of its environment, and how it is called.
func (p *pythonRunner) digest(ctx context.Context, source module.Source) (string, error) {
	ready, err := p.prepare(ctx, source, source.RunFn, source.TunerFn)
	if err != nil {
		return "", err
	}
	return ready.digest(source)
}

// digest covers how AutoGraph converts only if that is not the default: an operator who sets it
// wants to see its effect.
func (r prepared) digest(source module.Source) (string, error) {
	parts := []string{"python@1", r.files.Digest, r.files.File, r.environment.Digest,
		cmp.Or(source.Keras, module.KerasAuto), source.RunFn, source.TunerFn}
	if source.Autograph == module.AutographAll {
		parts = append(parts, "autograph", source.Autograph)
	}
	text, err := json.Marshal(parts)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return digestText(sum[:]), nil
}

// tfxJob is a TFX module that is prepared for one request.
type tfxJob struct {
	prepared

	python *pythonRunner
	source module.Source // with the Keras that several workers need
	keras  kerasChoice
	gpus   gpuShare
	digest string
}

// job prepares the module of a request.
func (p *pythonRunner) job(ctx context.Context, q request) (tfxJob, error) {
	source := forWorkers(q.assignment)
	ready, err := p.prepare(ctx, source, source.Function(q.assignment.Call))
	if err != nil {
		return tfxJob{}, err
	}
	keras, err := p.chooseKeras(ctx, ready, source, q.assignment)
	if err != nil {
		return tfxJob{}, err
	}
	digest, err := ready.digest(q.assignment.Module)
	if err != nil {
		return tfxJob{}, err
	}
	return tfxJob{prepared: ready, python: p, source: source, keras: keras, digest: digest}, nil
}

// platform returns what the job runs on.
func (j tfxJob) platform() Platform {
	p := Platform{Python: j.environment.Version, Keras: j.keras.version(j.environment), GPUs: j.gpus.devices}
	for _, name := range []string{"tensorflow", "tensorflow-cpu", "tensorflow-intel", "tensorflow-macos"} {
		p.TensorFlow = cmp.Or(p.TensorFlow, j.environment.Packages[name])
	}
	return p
}

// kind returns what the job's process has in common with those of other jobs.
func (j tfxJob) kind() pythonKind {
	return pythonKind{environment: j.environment, env: slices.Concat(j.python.r.env, j.environment.Env(j.layout, j.keras.Version))}
}

// exchange copies the module's files to where a process reads them, and prepares the request for
// it. On errors the process is ended. access is the job's own; a process that started before the
// job was known enters its sandbox.
func (j tfxJob) exchange(ctx context.Context, q request, p *child, access *process.Access) (*exchange, error) {
	r := j.python.r
	copied, err := j.files.CopyTo(ctx, p.Files())
	if err != nil {
		p.End()
		return nil, fail(filesFault(ctx, err), fmt.Errorf("module %s: %w", q.assignment.Module, err))
	}
	if err := r.users.lend(p.User, p.Files()); err != nil {
		p.End()
		return nil, fail(KindHost, fmt.Errorf("module %s: hand its files to its user: %w", q.assignment.Module, err))
	}
	setup := j.setup(copied, p.Home)
	if access != nil && p.access == nil {
		if sandbox := access.Sandbox(p.Home); sandbox != nil {
			sandbox.SpareThreads = r.access.warmAny
			setup.Sandbox = sandbox
		}
	}
	j.gpus.set(setup.Env)
	x := r.exchange(q, p)
	x.setup, x.ownKinds, x.reword = setup, []module.ErrorKind{module.ErrorKind(kindOtherKeras)}, copied.Theirs
	return x, nil
}

// setup returns the line before the assignment. The directory of the module file comes before that
// of all its files.
func (j tfxJob) setup(files snapshot.Snapshot, home string) python.Setup {
	s := python.Setup{
		Env: map[string]string{"HOME": home, "TMPDIR": home, process.MarkEnv: home},
		Dir: home, Path: []string{files.Dir}, RunFn: j.source.RunFn, TunerFn: j.source.TunerFn,
		Keras: j.keras.Version, KerasAuto: j.keras.open, Autograph: cmp.Or(j.source.Autograph, module.AutographUser),
	}
	if files.File != "" {
		s.File = filepath.Join(files.Dir, files.File)
		s.Path = slices.Compact([]string{filepath.Dir(s.File), files.Dir})
	}
	return s
}

// takeWarm returns a process for a job that has imported TensorFlow. A job of several workers gets
// none: its process only starts those, and needs no imports.
func (p *pythonRunner) takeWarm(ctx context.Context, a module.Assignment, job tfxJob) (*child, error) {
	if a.Workers > 1 {
		return nil, errCold
	}
	if err := p.r.access.foreign(job.source, p.byDefault()); err != nil {
		return nil, err
	}
	if within := p.r.access.ofWarm(); !covers(within, a) {
		return nil, fmt.Errorf("its folders are not below %s", p.r.access.work)
	}
	return p.warm.take(ctx, job.kind())
}

// blameless reports whether the end of a warm process is not its module's fault: the process had
// exited before the assignment reached it, hung, or could not enter the job's sandbox.
func (x *exchange) blameless(err error) bool {
	return x.unsent != nil || errors.Is(err, errStuck) || hasThreads(err)
}

// kindThreads is the kind of error that a warm process reports, instead of running its job, if its
// imports have started threads that would stay outside the job's sandbox. A module that reports it
// starts again, cold.
const kindThreads module.ErrorKind = "threads"

func hasThreads(err error) bool {
	failed, ok := errors.AsType[*Error](err)
	return ok && failed.Kind == Kind(kindThreads)
}

// startCold prepares a request that a warm process has failed for another process.
func (q *request) startCold(log *slog.Logger, reason error, spent time.Duration) error {
	log.Warn("TFX module restarts without a warm process", "module", q.assignment.Module, "reason", reason)
	q.note("the warm process is given up (%v): the module starts again in one of its own", reason)
	if q.limits.Timeout > 0 {
		q.limits.Timeout = max(q.limits.Timeout-spent, time.Millisecond)
	}
	if err := removeOutputs(q.assignment); err != nil {
		return fail(KindHost, fmt.Errorf("module %s: remove the output of the first try: %w", q.assignment.Module, err))
	}
	return nil
}

// startOver restores the state before the first try, to run with another Keras: empty output
// directories, and the rest of the time limit. It also empties the working directory with its
// checkpoint: one Keras can't resume from the other's.
func (q *request) startOver(with kerasChoice, spent time.Duration) error {
	if q.limits.Timeout > 0 {
		if q.limits.Timeout -= spent; q.limits.Timeout <= 0 {
			err := fmt.Errorf("module %s: %w before the other Keras could be tried", q.assignment.Module, errTimeout)
			return fail(KindResources, err)
		}
	}
	a := q.assignment
	err := errors.Join(removeOutputs(a), recreate(a.ModelRunDir), recreate(a.WorkingDir))
	if err == nil && a.WorkingDir != "" {
		err = writeKeras(filepath.Join(a.WorkingDir, kerasMark), with)
	}
	if err != nil {
		return fail(KindHost, fmt.Errorf("module %s: remove the output of the first try: %w", a.Module, err))
	}
	if q.on != nil && a.WorkingDir != "" {
		q.on(module.Message{Type: module.MessageCheckpoint, All: true})
	}
	return nil
}

// removeOutputs removes files that a module creates, and empties directories that it is given.
func removeOutputs(a module.Assignment) error {
	paths := []string{a.ServingModelDir, a.EvalModelDir}
	if a.Predictions != nil {
		paths = append(paths, a.Predictions.Path, a.Predictions.LabelsPath, a.Predictions.MemoryPath)
	}
	if a.ServingModelDir != "" {
		pattern := filepath.Join(filepath.Dir(a.ServingModelDir), "Format-*")
		formats, _ := filepath.Glob(pattern) // the only error is that of a bad pattern
		paths = append(paths, formats...)
	}
	errs := []error{recreate(a.BestHyperparametersDir), recreate(a.TunerResultsDir)}
	for _, path := range paths {
		if path != "" {
			errs = append(errs, os.RemoveAll(path))
		}
	}
	return errors.Join(errs...)
}

// recreate removes a directory and makes it anew. "" is none.
func recreate(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.MkdirAll(dir, 0o755)
}

// Interpreter returns a Python that has TensorFlow, to check the model of a module: that of the TFX
// module itself, or for other modules the one of TFX modules that name none. It is "" if there is
// none.
func (r *Runner) Interpreter(ctx context.Context, source module.Source) string {
	cache, err := r.cacheDir()
	if err != nil {
		return ""
	}
	e, err := python.Find(ctx, python.Options{Named: source.Python, Default: r.python.byDefault(), CacheDir: cache, By: r.runPython})
	if err != nil {
		r.opts.Logger.Debug("no Python to ask a model in its files", "why", err)
		return ""
	}
	return e.Interpreter
}

// byDefault returns the interpreter of modules that name none, if the worker's environment names
// one.
func (p *pythonRunner) byDefault() string { return cmp.Or(p.r.opts.Python, os.Getenv(PythonEnv)) }

// runPython runs commands of package python. Pipelines name interpreters and packages, which run
// code when they start, so the commands are confined as modules are, but without a job's limits. A
// command that installs packages has network access, and writes files of any size.
func (r *Runner) runPython(cmd *exec.Cmd, needs python.Needs) (err error) {
	home, err := os.MkdirTemp(r.supervisor.Dir(), "python-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	cmd.Env = append(cmd.Env, "TMPDIR="+home)
	var access *process.Access
	if r.access.on {
		access = &process.Access{Hidden: r.access.hidden, Write: needs.Write}
	}
	confinement := r.supervisor.Confinement()
	if needs.Network {
		confinement.NoNetwork, confinement.FileBytes = false, 0
	}
	return r.users.ids.With(func(user *process.User) error {
		if user != nil {
			cmd.Env = append(cmd.Env, "HOME="+home)
		}
		if err := r.users.handInstall(user, cmd.Path, needs.Write); err != nil {
			return err
		}
		return errors.Join(process.Run(cmd, home, process.Bounds{Access: access, Confinement: confinement, User: user}),
			r.users.reclaim(user, needs.Write...))
	})
}
