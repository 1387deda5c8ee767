package trainer

import (
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// identity is all that decides a model. A new field must be left out when empty, or every model
// there is would be trained again.
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
	Skew        *pipeline.Skew      `json:"skew,omitempty"`           // that its files passed; nil: they need not
	Salt        string              `json:"salt,omitempty"`
	Workers     int                 `json:"workers,omitempty"`  // 0 for one
	Strategy    string              `json:"strategy,omitempty"` // unless it follows from Workers
	Model       string              `json:"model,omitempty"`    // that passes for one, unless it is a SavedModel
	Device      string              `json:"device,omitempty"`   // that it asks for, unless it is a CPU

	Deterministic bool `json:"deterministic,omitempty"` // unless it always is
}

// shards is the number of data-parallel parts of a batch. It decides the result, so it never comes
// from a machine's cores.
const shards = 1

// identityOf is what the job comes down to, with the digest of its module's code.
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

// sorted are the exports in an order of ours: theirs decides nothing.
func sorted(exports []pipeline.Export) []pipeline.Export {
	return slices.SortedFunc(slices.Values(exports), func(a, b pipeline.Export) int { return strings.Compare(a.Format, b.Format) })
}

// several is the number of workers that train together: a batch is summed up in another order then,
// and split in other places.
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

// passed is the comparison that a model went through before it was published: one that asks for
// another has not been made yet, even if its files would be the same.
func passed(skew pipeline.Skew) *pipeline.Skew {
	if !skew.Check {
		return nil
	}
	return &skew
}
