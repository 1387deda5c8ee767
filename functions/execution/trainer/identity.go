package trainer

import (
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// identity is everything that determines a model. A new field must be left out when it is empty;
// otherwise every existing model would be trained again.
type identity struct {
	Function    events.Function     `json:"function"`
	Module      string              `json:"module"`
	Inputs      []execution.InputID `json:"inputs"`
	TrainArgs   pipeline.Args       `json:"train_args"`
	EvalArgs    pipeline.Args       `json:"eval_args"`
	Config      map[string]any      `json:"custom_config,omitempty"`
	Exports     []pipeline.Export   `json:"exports,omitempty"`
	Seed        int64               `json:"seed"`
	Shards      int                 `json:"shards"`
	Transformed bool                `json:"transformed"`
	Payload     string              `json:"payload_format,omitempty"` // unless it is tf.Example
	// The comparison that its files passed; nil: none is needed.
	Skew     *pipeline.Skew `json:"skew,omitempty"`
	Salt     string         `json:"salt,omitempty"`
	Workers  int            `json:"workers,omitempty"`  // 0 for one
	Strategy string         `json:"strategy,omitempty"` // unless it follows from Workers
	// The output that is accepted as a model, unless it is a SavedModel.
	Model  string `json:"model,omitempty"`
	Device string `json:"device,omitempty"` // the requested device, unless it is a CPU

	Deterministic bool `json:"deterministic,omitempty"` // unless the module always is
}

// shards is the number of data-parallel parts of a batch. It determines the result, so it does not
// depend on a machine's cores.
const shards = 1

// identityOf returns the identity of a job, with the digest of its module's code.
func identityOf(job events.Job, spec pipeline.Pipeline, code string, inputs []execution.Input) identity {
	return identity{
		Function:    job.Function,
		Module:      code,
		Inputs:      execution.ByContent(inputs),
		TrainArgs:   spec.Trainer.TrainArgs,
		EvalArgs:    spec.Trainer.EvalArgs,
		Config:      module.Deciding(spec.Module.Path, spec.Trainer.CustomConfig),
		Exports:     sorted(spec.Trainer.Exports),
		Seed:        spec.Trainer.Seed,
		Shards:      shards,
		Transformed: execution.Transformed(job),
		Payload:     execution.UnusualPayload(job),
		Skew:        passed(spec.Trainer.Skew),
		Salt:        job.Salt,
		Workers:     several(spec.Trainer.Resources),
		Strategy:    strategy(spec.Trainer.Resources),
		Model:       spec.Trainer.Model,
		Device:      device(spec.Trainer.Resources),

		Deterministic: bool(spec.Trainer.Deterministic) && !spec.Module.IsBuiltin(),
	}
}

// sorted returns the exports in a canonical order, because their order does not determine the
// result.
func sorted(exports []pipeline.Export) []pipeline.Export {
	return slices.SortedFunc(slices.Values(exports), func(a, b pipeline.Export) int { return strings.Compare(a.Format, b.Format) })
}

// several returns the number of workers that train together, because they sum up a batch in another
// order and split it elsewhere.
func several(r pipeline.Resources) int {
	if r.Workers < 2 {
		return 0
	}
	return r.Workers
}

// strategy returns the strategy in whose scope the module runs, "" for none. multi_worker is left
// out: it follows from the number of workers.
func strategy(r pipeline.Resources) string {
	if r.Strategy == module.StrategyMultiWorker {
		return ""
	}
	return r.Strategy
}

// device returns "gpu" if the job asks for a GPU: a CPU gives a result that differs in the last
// digits.
func device(r pipeline.Resources) string {
	if r.WantsGPU() {
		return module.DeviceGPU
	}
	return ""
}

// passed returns the comparison that a model must pass before it is published. A model with another
// one is another execution, even if its files would be the same.
func passed(skew pipeline.Skew) *pipeline.Skew {
	if !skew.Check {
		return nil
	}
	return &skew
}
