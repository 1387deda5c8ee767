package tuner

import (
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// identity is everything that determines a search. A new field must be left out when it is empty;
// otherwise every existing search would be made again.
type identity struct {
	Function    events.Function     `json:"function"`
	Module      string              `json:"module"`
	Inputs      []execution.InputID `json:"inputs"`
	TrainArgs   pipeline.Args       `json:"train_args"`
	EvalArgs    pipeline.Args       `json:"eval_args"`
	TuneArgs    pipeline.TuneArgs   `json:"tune_args,omitzero"`
	Study       *pipeline.Study     `json:"study,omitempty"`
	Config      map[string]any      `json:"custom_config,omitempty"`
	Seed        int64               `json:"seed"`
	Transformed bool                `json:"transformed"`
	Payload     string              `json:"payload_format,omitempty"` // unless it is tf.Example
	Strategy    string              `json:"strategy,omitempty"`
	Salt        string              `json:"salt,omitempty"`

	Deterministic bool `json:"deterministic,omitempty"`
	// The device that trials request, unless it is a CPU.
	Device string `json:"device,omitempty"`
}

// identityOf returns the identity of a job, with the digest of its module's code.
func identityOf(job events.Job, spec pipeline.Pipeline, code string, inputs []execution.Input) identity {
	search := spec.Search()
	return identity{
		Function:    job.Function,
		Module:      code,
		Inputs:      execution.ByContent(inputs),
		TrainArgs:   search.TrainArgs,
		EvalArgs:    search.EvalArgs,
		TuneArgs:    search.TuneArgs,
		Study:       search.Study,
		Config:      module.Deciding(spec.Module.Path, search.CustomConfig),
		Seed:        search.Seed,
		Transformed: execution.Transformed(job),
		Payload:     execution.UnusualPayload(job),
		Strategy:    search.Resources.Strategy,
		Salt:        job.Salt,

		Deterministic: bool(spec.Trainer.Deterministic) && !spec.Module.IsBuiltin(),
		Device:        device(search.Resources),
	}
}

// device returns "gpu" if trials ask for a GPU: a CPU gives scores that differ in the last digits.
func device(r pipeline.Resources) string {
	if r.WantsGPU() {
		return module.DeviceGPU
	}
	return ""
}
