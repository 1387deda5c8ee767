package runner

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/functions/module"
)

// checkStrategy refuses, before anything is started, a strategy that the module can't be run with here. How several workers
// are run is the driver's: one process of it starts them in its own process group, so that limits, the request to leave and
// the end hold for all of them together.
func (h *Runner) checkStrategy(kind codeKind, a module.Assignment) error {
	several := a.Workers > 1
	if !several && (a.Strategy == "" || a.Strategy == module.StrategyMirrored && kind == pythonSource) {
		return nil
	}
	switch {
	case kind != pythonSource:
		return refuse(a, "%s is for TFX modules, and this is none", asked(a))
	case a.Strategy == module.StrategyTPU:
		return h.checkTPU(a)
	}
	return nil
}

func refuse(a module.Assignment, format string, args ...any) error {
	return fail(KindInput, fmt.Errorf("module %s: %s", a.Module, fmt.Sprintf(format, args...)))
}

// asked is what a pipeline has asked for, in its words.
func asked(a module.Assignment) string {
	if a.Workers > 1 {
		return fmt.Sprintf("resources.workers: %d", a.Workers)
	}
	return "resources.strategy: " + a.Strategy
}

// forWorkers returns the module as several workers run it: with Keras 2 unless the pipeline chose Keras 3, whose fit fails with
// MultiWorkerMirroredStrategy.
func forWorkers(a module.Assignment) module.Source {
	source := a.Module
	if a.Workers > 1 && (source.Keras == "" || source.Keras == module.KerasAuto) {
		source.Keras = module.Keras2
	}
	return source
}

// Where a TPU is found: the name of one, which TPUClusterResolver reads, or the devices of one in this machine.
const tpuEnv = "TPU_NAME"

func tpuDevices() []string { return []string{"/dev/accel*", "/dev/vfio/[0-9]*"} }

// checkTPU refuses a job that would wait for a TPU that is not there. Whether a named one answers is for the module to see.
func (h *Runner) checkTPU(a module.Assignment) error {
	named := slices.ContainsFunc(h.env, func(pair string) bool {
		name, ok := strings.CutPrefix(pair, tpuEnv+"=")
		return ok && name != "" && name != "local"
	})
	if named {
		return nil
	}
	for _, pattern := range tpuDevices() {
		if found, _ := filepath.Glob(pattern); len(found) > 0 { // the only error is that of a bad pattern
			return nil
		}
	}
	return refuse(a, "resources.strategy: tpu: this worker reaches no TPU: %s names none, and there is none of %s; "+
		"have workers of the class run where there is one", tpuEnv, strings.Join(tpuDevices(), ", "))
}
