package pipeline

import (
	"strings"

	"github.com/stoker-ml/stoker/functions/module"
)

// Classes of jobs whose pipelines name none.
const (
	classCPU = "cpu"
	classTPU = "tpu"
)

// classGPU is the class of jobs that train on a GPU. Classes that begin with it and a hyphen, as gpu-a100, name kinds of GPUs.
const classGPU = "gpu"

// WantsGPU reports whether the job asks for a GPU: its class is gpu or begins with "gpu-". On a worker without a GPU it
// trains on the CPU, and the model says so.
func (r Resources) WantsGPU() bool {
	return r.Class == classGPU || strings.HasPrefix(r.Class, classGPU+"-")
}

// infer fills in what follows from the strategy, and the strategy where it follows from the workers.
func (r *Resources) infer() {
	if r.Strategy == "" && r.Workers > 1 {
		r.Strategy = module.StrategyMultiWorker
	}
	if r.Class != "" {
		return
	}
	r.Class = classCPU
	if r.Strategy == module.StrategyTPU {
		r.Class = classTPU
	}
}

// strategy refuses what tf.distribute has no way for, and what builtin modules have none for. Whether another module is a
// TFX module is seen by the worker that opens it.
func (r *report) strategy(p Pipeline) {
	const strategy, workers = "trainer.resources.strategy", "trainer.resources.workers"
	asked := p.Trainer.Resources
	if asked.Strategy == "" {
		return
	}
	r.oneOf(strategy, asked.Strategy, module.Strategies()...)
	key := strategy
	if asked.Workers > 1 {
		key = workers
	}
	switch many := asked.Strategy == module.StrategyMultiWorker; {
	case r.blames(strategy) || r.blames(workers):
	case p.Module.IsBuiltin():
		r.add(key, "%s trains in one process and on its own; several processes and the strategies of tf.distribute are for TFX modules",
			shorten(p.Module.Path))
	case many && asked.Workers == 1:
		r.add(strategy, "multi_worker is for workers: 2 or more")
	case !many && asked.Workers > 1:
		r.add(strategy, "%s is for one process, and workers is %d: expected multi_worker", asked.Strategy, asked.Workers)
	case asked.Workers > module.MaxWorkers:
		r.add(workers, "expected at most %d, got %d", module.MaxWorkers, asked.Workers)
	}
}

// alone is what is left of the resources of several processes for one of them.
func (r *Resources) alone() {
	r.Workers = 1
	if r.Strategy == module.StrategyMultiWorker {
		r.Strategy = ""
	}
}
