package pipeline

import "time"

// defaults is the pipeline that a file fills in. Splits are TFX's.
func defaults() Pipeline {
	return Pipeline{Trainer: Trainer{
		TrainArgs:       Args{Splits: []string{"train"}},
		EvalArgs:        Args{Splits: []string{"eval"}},
		Hyperparameters: HyperparametersAuto,
		BaseModel:       BaseModelNone,
		Cache:           true,
		ExpireAfter:     Expiry(7 * 24 * time.Hour),
		Skew:            Skew{Check: true, Rows: skewRows, Tolerance: skewTolerance},
		Resources:       Resources{Workers: 1},
		MaxAttempts:     1,
		MaxCrashes:      3,
	}}
}

// infer fills in what follows from other keys.
func (p *Pipeline) infer() {
	t := &p.Trainer
	if len(t.TrainArgs.Splits) == 0 {
		t.TrainArgs.Splits = []string{"train"}
	}
	if len(t.EvalArgs.Splits) == 0 {
		t.EvalArgs.Splits = []string{"eval"}
	}
	if p.Concurrency != nil && p.Concurrency.Newest == "" {
		p.Concurrency.Newest = NewestQueue
	}
	if t.Model == ModelSaved {
		t.Model = ""
	}
	t.Resources.infer()
	if p.Tuner != nil {
		p.Tuner.infer(*t)
	}
	if len(t.WaitFor) == 0 {
		t.WaitFor = []string{WaitTransform}
		if p.ownHyperparameters() {
			t.WaitFor = append(t.WaitFor, WaitHParams)
		}
	}
}

// ownHyperparameters says whether a run can't train before its own hyperparameters are there.
func (p *Pipeline) ownHyperparameters() bool {
	policy := p.Trainer.Hyperparameters
	return policy == HyperparametersRun || policy == HyperparametersAuto && p.Tuner != nil
}
