package runner

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/functions/module"
)

// checkStrategy refuses, before anything is started, a strategy that the module can't run with
// here. The driver runs several workers: one process of it starts them in its own process group, so
// that limits, the request to stop and the end apply to all of them together.
func (r *Runner) checkStrategy(kind codeKind, a module.Assignment) error {
	several := a.Workers > 1
	if !several && (a.Strategy == "" || a.Strategy == module.StrategyMirrored && kind == pythonSource) {
		return nil
	}
	switch {
	case kind != pythonSource:
		return refuse(a, "%s applies only to TFX modules, and this is not one", asked(a))
	case a.Strategy == module.StrategyTPU:
		return r.checkTPU(a)
	}
	return nil
}

func refuse(a module.Assignment, format string, args ...any) error {
	return fail(KindInput, fmt.Errorf("module %s: %s", a.Module, fmt.Sprintf(format, args...)))
}

// asked returns the setting of a pipeline that asks for the strategy.
func asked(a module.Assignment) string {
	if a.Workers > 1 {
		return fmt.Sprintf("resources.workers: %d", a.Workers)
	}
	return "resources.strategy: " + a.Strategy
}

// forWorkers returns the module as several workers run it: with Keras 2 unless the pipeline names
// Keras 3, whose fit fails with MultiWorkerMirroredStrategy.
func forWorkers(a module.Assignment) module.Source {
	source := a.Module
	if a.Workers > 1 && (source.Keras == "" || source.Keras == module.KerasAuto) {
		source.Keras = module.Keras2
	}
	return source
}

// A TPU is found by its name, which TPUClusterResolver reads, or by the devices of this machine.
const tpuEnv = "TPU_NAME"

func tpuDevices() []string { return []string{"/dev/accel*", "/dev/vfio/[0-9]*"} }

// checkTPU refuses a job that would wait for a TPU that does not exist. Whether a named one answers
// is up to the module.
func (r *Runner) checkTPU(a module.Assignment) error {
	named := slices.ContainsFunc(r.env, func(pair string) bool {
		name, ok := strings.CutPrefix(pair, tpuEnv+"=")
		return ok && name != "" && name != "local"
	})
	if named {
		return nil
	}
	for _, pattern := range tpuDevices() {
		// the only error is that of a bad pattern
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return nil
		}
	}
	return refuse(a, "resources.strategy: tpu: this worker has no TPU: %s names none, and none of %s exists; "+
		"run the workers of this class on machines with a TPU", tpuEnv, strings.Join(tpuDevices(), ", "))
}
