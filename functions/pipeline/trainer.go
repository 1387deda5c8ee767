package pipeline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/functions/module"
)

// Export is a format to write in addition to the SavedModel: a string (tflite), or a mapping
// ({format: tflite, required: true}).
//
// Modules that write their files themselves, builtin and Go ones, fail if one is missing. For a TFX
// module the files are converted from its SavedModel, which is not possible for every model and
// format: a missing file is noted in ModelTrained, and fails the job only if it is required.
type Export struct {
	Format   string `json:"format" jsonschema:"required,description=Name of the format"`
	Required Switch `json:"required,omitempty" jsonschema:"description=on: the job of a TFX module fails if its model can't be written in this format. off: the model is published without it\\, and a note says so. Default: off"`
}

// plainExport is Export without its methods.
type plainExport Export

// MarshalJSON writes a string if only the format is set, as in earlier versions.
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

// Formats returns the formats of exports.
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
			r.add(at, "%s is listed twice", shorten(name))
		}
	}
}

// Skew configures the comparison of a model in its files with the trained model in memory, before
// it is published.
type Skew struct {
	Check     Switch  `json:"check" jsonschema:"description=off: no comparison. Default: on"`
	Rows      int     `json:"rows" jsonschema:"minimum=1,maximum=100000,default=100,description=Largest number of evaluation rows that are compared"`
	Tolerance float64 `json:"tolerance" jsonschema:"minimum=0,default=1e-5,description=Largest difference of two answers: this much\\, plus this share of the largest number of the output. A greater difference fails the job"`
}

// Defaults of a comparison; package compute/tf/skew has the reasons.
const (
	skewRows      = 100
	skewTolerance = 1e-5
)

// long accepts `skew: off` for `skew: {check: off}`.
func (s *Skew) long(n node) (node, error) {
	switch n.value.(type) {
	case string, bool:
		return node{at: n.at, value: []field{{key: "check", at: n.at, node: n}}}, nil
	}
	return n, nil
}

func (s *Skew) forms() string { return "on, off or a mapping like {rows: 100, tolerance: 1e-5}" }

// Default classes of jobs.
const (
	classCPU = "cpu"
	classTPU = "tpu"
)

// classGPU is the class of jobs that train on a GPU. Classes that begin with it and a hyphen, like
// gpu-a100, name kinds of GPUs.
const classGPU = "gpu"

// WantsGPU reports whether the job requests a GPU: its class is gpu or begins with "gpu-". On a
// worker without a GPU it trains on the CPU, and the model records that.
func (r Resources) WantsGPU() bool {
	return r.Class == classGPU || strings.HasPrefix(r.Class, classGPU+"-")
}

// infer sets the values that follow from the strategy, and the strategy if it follows from the
// workers.
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

// strategy reports combinations that tf.distribute, or a builtin module, does not support. Whether
// another module is a TFX module is known only to the worker that opens it.
func (r *report) strategy(p Pipeline) {
	const strategy, workers = "trainer.resources.strategy", "trainer.resources.workers"
	asked := p.Trainer.Resources
	if asked.Strategy == "" {
		return
	}
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
	}
}

// alone reduces the resources of several processes to those of one of them.
func (r *Resources) alone() {
	r.Workers = 1
	if r.Strategy == module.StrategyMultiWorker {
		r.Strategy = ""
	}
}
