package trainer

import (
	"slices"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// identity is all that decides a model. A new field must be left out when empty, or every model there is would be trained again.
type identity struct {
	Function    events.Function     `json:"function"`
	Module      string              `json:"module"`
	Inputs      []execution.InputID `json:"inputs"`
	TrainArgs   pipeline.Args       `json:"train_args"`
	EvalArgs    pipeline.Args       `json:"eval_args"`
	Config      map[string]any      `json:"custom_config,omitempty"`
	Exports     []string            `json:"exports,omitempty"`
	Seed        int64               `json:"seed"`
	Shards      int                 `json:"shards"`
	Transformed bool                `json:"transformed"`
	Payload     string              `json:"payload_format,omitempty"` // unless it is tf.Example
	Skew        *pipeline.Skew      `json:"skew,omitempty"`           // that its files passed; nil: they need not
	Salt        string              `json:"salt,omitempty"`
}

// shards is the number of data-parallel parts of a batch. It decides the result, so it never comes from a machine's cores.
const shards = 1

// identityOf is what the job comes down to, with the digest of its module's code.
func identityOf(job events.Job, spec pipeline.Pipeline, module string, inputs []execution.Input) identity {
	return identity{
		Function:    job.Function,
		Module:      module,
		Inputs:      execution.ByContent(inputs),
		TrainArgs:   spec.Trainer.TrainArgs,
		EvalArgs:    spec.Trainer.EvalArgs,
		Config:      spec.Trainer.CustomConfig,
		Exports:     slices.Sorted(slices.Values(spec.Trainer.Exports)), // their order decides nothing
		Seed:        spec.Trainer.Seed,
		Shards:      shards,
		Transformed: execution.Transformed(job),
		Payload:     execution.UnusualPayload(job),
		Skew:        passed(spec.Trainer.Skew),
		Salt:        job.Salt,
	}
}

// passed is the comparison that a model went through before it was published: one that asks for another has not been made yet,
// even if its files would be the same.
func passed(skew pipeline.Skew) *pipeline.Skew {
	if !skew.Check {
		return nil
	}
	return &skew
}
