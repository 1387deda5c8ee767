package runner

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner/process"
	"github.com/stoker-ml/stoker/functions/runner/python"
	"github.com/stoker-ml/stoker/functions/runner/snapshot"
)

// PythonEnv names the environment variable that says which Python interpreter has TensorFlow.
const PythonEnv = "STOKER_PYTHON"

// pythonRunner runs TFX modules: it finds the environment, takes the module's files, and has a process of the driver work on them.
type pythonRunner struct {
	host  *Runner
	gpus  *gpuShares
	warm  warmProcesses
	keras *kerasKept
}

func newPythonRunner(h *Runner) (p *pythonRunner, err error) {
	p = &pythonRunner{host: h, gpus: newGPUShares(h.opts.Slots), keras: &kerasKept{known: map[string]kerasChoice{}}}
	if cache, err := h.cacheDir(); err == nil {
		p.keras.dir = filepath.Join(cache, "keras")
	}
	p.warm, err = newWarmProcesses(h, p.gpus.any())
	return p, err
}

// prepared is what a TFX module needs to be run.
type prepared struct {
	environment python.Environment
	layout      python.Layout
	files       snapshot.Snapshot
	keras       kerasChoice // of a job
}

// prepare is told the names that the pipeline gives the functions that may be called.
func (p *pythonRunner) prepare(ctx context.Context, source module.Source, names ...string) (prepared, error) {
	cache, err := p.host.cacheDir()
	if err != nil {
		return prepared{}, err
	}
	var ready prepared
	if ready.files, err = snapshot.Take(ctx, filepath.Join(cache, "python"), source.Path); err != nil {
		return prepared{}, fail(fault(ctx, err), err)
	}
	if err := callable(ready.files, names...); err != nil {
		return prepared{}, err
	}
	if ready.layout, err = python.Lay(cache); err != nil {
		return prepared{}, fail(KindHost, fmt.Errorf("lay out the Python driver: %w", err))
	}
	ready.environment, err = python.Find(ctx, python.Options{
		Named: source.Python, Default: p.byDefault(), Requirements: source.Requirements, CacheDir: cache, Logger: p.host.opts.Logger, By: p.host.runPython,
	})
	if err != nil {
		return prepared{}, fail(environmentFault(ctx, err), err)
	}
	return ready, nil
}

// environmentFault says whose an error of an environment is. A disk that is full is none of the pipeline's.
func environmentFault(ctx context.Context, err error) Kind {
	full := errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) ||
		strings.Contains(err.Error(), "No space left on device") // as an installer says it
	switch {
	case ctx.Err() != nil:
		return KindStopped
	case full:
		return KindHost
	}
	return KindInput
}

// fault says whose an error of a module's files is.
func fault(ctx context.Context, err error) Kind {
	if _, ok := errors.AsType[*snapshot.Invalid](err); ok {
		return KindInput
	}
	return waiting(ctx)
}

// digest is the SHA-256 of all that decides what a TFX module makes of its data: its files, the packages of its environment, and
// how it is called.
func (p *pythonRunner) digest(ctx context.Context, source module.Source) (string, error) {
	ready, err := p.prepare(ctx, source, source.RunFn, source.TunerFn)
	if err != nil {
		return "", err
	}
	return ready.digest(source)
}

// digest has how AutoGraph is told to convert in it where that is not the usual way: whoever sets it wants to see what comes of it.
func (r prepared) digest(source module.Source) (string, error) {
	decides := []string{"python@1", r.files.Digest, r.files.File, r.environment.Digest,
		cmp.Or(source.Keras, module.KerasAuto), source.RunFn, source.TunerFn}
	if source.Autograph == module.AutographAll {
		decides = append(decides, "autograph", source.Autograph)
	}
	text, err := json.Marshal(decides)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return digestText(sum[:]), nil
}

func (p *pythonRunner) send(ctx context.Context, e *request) (Outcome, error) {
	source := forWorkers(e.assignment)
	ready, err := p.prepare(ctx, source, source.Function(e.assignment.Call))
	if err != nil {
		return Outcome{}, err
	}
	if ready.keras, err = p.chooseKeras(ctx, ready, source, e.assignment); err != nil {
		return Outcome{}, err
	}
	digest, err := ready.digest(e.assignment.Module)
	if err != nil {
		return Outcome{}, err
	}
	outcome, err := p.tried(ctx, e, ready, source)
	outcome.Module = digest
	return outcome, err
}

// kind is what the process of this module has in common with that of others.
func (r prepared) kind(env []string) pythonKind {
	return pythonKind{environment: r.environment, env: slices.Concat(env, r.environment.Env(r.layout, r.keras.Version))}
}

// setup is the line that comes before the assignment. The folder of the module file goes before that of all its files.
func (r prepared) setup(source module.Source, home string) python.Setup {
	s := python.Setup{
		Env: map[string]string{"HOME": home, "TMPDIR": home, process.MarkEnv: home},
		Dir: home, Path: []string{r.files.Dir}, RunFn: source.RunFn, TunerFn: source.TunerFn,
		Keras: r.keras.Version, KerasAuto: r.keras.open, Autograph: cmp.Or(source.Autograph, module.AutographUser),
	}
	if r.files.File != "" {
		s.File = filepath.Join(r.files.Dir, r.files.File)
		s.Path = slices.Compact([]string{filepath.Dir(s.File), r.files.Dir})
	}
	return s
}
