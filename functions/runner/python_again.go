package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/stoker-ml/stoker/functions/module"
)

// kindOtherKeras is what the driver calls an error that the other Keras does not raise. It never leaves this package.
const kindOtherKeras Kind = "other-keras"

// tried runs a module with the Keras of choice, and once more with the other one if that is what it needs and nobody chose.
func (p *pythonRunner) tried(ctx context.Context, e *request, r prepared, source module.Source) (Outcome, error) {
	began := time.Now()
	e.own = []module.ErrorKind{module.ErrorKind(kindOtherKeras)}
	outcome, err := p.try(ctx, e, r, source)
	first := asOtherKeras(err)
	if first == nil {
		return outcome, err
	}
	if !r.keras.open {
		return outcome, asModules(first)
	}
	r.keras = r.keras.other("found out by trying the other one")
	e.note("the module needs Keras %s, and starts again with it: what it has written is removed", r.keras.Version)
	if err := e.startOver(r.keras, time.Since(began)); err != nil {
		return outcome, err
	}
	outcome, err = p.try(ctx, e, r, source)
	if second := asOtherKeras(err); second != nil {
		second.Err = fmt.Errorf("%w; and with the other Keras before: %w", second.Err, first.Err)
		return outcome, asModules(second)
	}
	p.keep(r.kerasKey(source, e.assignment.Call), r.keras)
	return outcome, err
}

// try is one run, in a process that has the Keras of choice.
func (p *pythonRunner) try(ctx context.Context, e *request, r prepared, source module.Source) (Outcome, error) {
	e.note("%s", r.keras.line(r.environment))
	return p.work(ctx, e, r, source)
}

// asOtherKeras is err if the other Keras may do better.
func asOtherKeras(err error) *Error {
	if failed, ok := errors.AsType[*Error](err); ok && failed.Kind == kindOtherKeras {
		return failed
	}
	return nil
}

func asModules(err *Error) *Error {
	err.Kind = KindModule
	return err
}

// startOver makes everything as it was before the first try: empty output folders, the rest of the time limit. What survives
// of a job is emptied too, and the checkpoint with it, since one Keras can't go on from the other's.
func (e *request) startOver(with kerasChoice, spent time.Duration) error {
	if e.limits.Timeout > 0 {
		if e.limits.Timeout -= spent; e.limits.Timeout <= 0 {
			err := fmt.Errorf("module %s: %w before the other Keras could be tried", e.assignment.Module, errTimeout)
			return fail(KindResources, err)
		}
	}
	a := e.assignment
	err := errors.Join(removeOutputs(a), empty(a.ModelRunDir), empty(a.WorkingDir))
	if err == nil && a.WorkingDir != "" {
		err = writeKeras(filepath.Join(a.WorkingDir, kerasMark), with)
	}
	if err != nil {
		return fail(KindHost, fmt.Errorf("module %s: remove what a first try left: %w", a.Module, err))
	}
	if e.on != nil && a.WorkingDir != "" {
		e.on(module.Message{Type: module.MessageCheckpoint, All: true})
	}
	return nil
}

// removeOutputs removes what is not there before a module makes it, and what is in folders that it is given.
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
	errs := []error{empty(a.BestHyperparametersDir), empty(a.TunerResultsDir)}
	for _, path := range paths {
		if path != "" {
			errs = append(errs, os.RemoveAll(path))
		}
	}
	return errors.Join(errs...)
}

// empty makes a folder empty. "" is none.
func empty(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.MkdirAll(dir, 0o755)
}

// note puts a line of ours into the job's log.
func (e *request) note(format string, args ...any) {
	fmt.Fprintf(e.log, "stoker: "+format+"\n", args...)
}
