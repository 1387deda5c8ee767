package pipeline

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/functions/module"
)

// Export is a format to write in addition to the SavedModel: a word (tflite), or a mapping ({format: tflite, required:
// true}).
//
// Modules that write their files themselves, builtin and Go ones, fail where one is missing. For a TFX module the files are
// made of its SavedModel, which not every format can hold: one that could not be made is noted in ModelTrained, and fails
// the job only if it is required.
type Export struct {
	Format   string `json:"format"`
	Required Switch `json:"required,omitempty"`
}

// plainExport is Export without its way of being written.
type plainExport Export

// MarshalJSON writes a word where that says it all, as pipelines have always been written.
func (e Export) MarshalJSON() ([]byte, error) {
	if !e.Required {
		return json.Marshal(e.Format)
	}
	return json.Marshal(plainExport(e))
}

func (e *Export) long(n node) (node, error) {
	if _, ok := n.value.(string); ok {
		return node{at: n.at, value: []field{{key: "format", at: n.at, node: n}}}, nil
	}
	return n, nil
}

func (e *Export) forms() string {
	return "a format, or a mapping like {format: tflite, required: true}"
}

// Formats are those that are asked for.
func Formats(exports []Export) []string {
	var names []string
	for _, e := range exports {
		names = append(names, e.Format)
	}
	return names
}

func (r *report) exports(exports []Export) {
	names := Formats(exports)
	for i, name := range names {
		at := fmt.Sprintf("trainer.exports[%d]", i)
		r.oneOf(at, name, module.Formats()...)
		if slices.Contains(names[:i], name) {
			r.add(at, "%s is there twice", shorten(name))
		}
	}
}

// Skew says how a model in its files is compared with the one that was trained, before it is published.
type Skew struct {
	Check     Switch  `json:"check"`
	Rows      int     `json:"rows"`
	Tolerance float64 `json:"tolerance"`
}

// What a comparison takes where nothing is said; package compute/tf/skew has the reasons.
const (
	skewRows      = 100
	skewTolerance = 1e-5
)

// maxSkewRows keeps a check short, and what it holds in memory small.
const maxSkewRows = 100_000

// long lets `skew: off` stand for `skew: {check: off}`.
func (s *Skew) long(n node) (node, error) {
	switch n.value.(type) {
	case string, bool:
		return node{at: n.at, value: []field{{key: "check", at: n.at, node: n}}}, nil
	}
	return n, nil
}

func (s *Skew) forms() string { return "on, off or a mapping like {rows: 100, tolerance: 1e-5}" }

func (r *report) skew(s Skew) {
	if s.Rows < 1 || s.Rows > maxSkewRows {
		r.add("trainer.skew.rows", "expected 1 to %d, got %d", maxSkewRows, s.Rows)
	}
	if s.Tolerance < 0 || math.IsInf(s.Tolerance, 0) {
		r.add("trainer.skew.tolerance", "expected 0 or more, got %v", s.Tolerance)
	}
}

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
