package pipeline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/functions/internal/mask"
)

// DefaultMaxLost is max_lost if neither the trainer nor the tuner sets it.
const DefaultMaxLost = 5

// effective is a pipeline for readers. Its Trainer, Tuner and Study include the defaults that the
// canonical JSON leaves out.
type effective struct {
	Name        string           `json:"pipeline"`
	Module      Module           `json:"module"`
	Trainer     effectiveTrainer `json:"trainer"`
	Tuner       *effectiveTuner  `json:"tuner,omitempty"`
	Concurrency *Concurrency     `json:"concurrency,omitempty"`
}

type effectiveTrainer struct {
	Trainer
	Window        int    `json:"window"`
	Deterministic Switch `json:"deterministic"`
}

type effectiveTuner struct {
	Tuner
	Study *effectiveStudy `json:"study,omitempty"`
}

type effectiveStudy struct {
	Study
	BestModel  Switch               `json:"best_model"`
	Validation *effectiveValidation `json:"validation,omitempty"`
}

type effectiveValidation struct {
	Folds int    `json:"folds"`
	Order string `json:"order"`
}

// Effective returns the pipeline as JSON with the value of every key that has an effect: defaults,
// values that the tuner takes from the trainer, and the policy that hyperparameters: auto means. A
// missing key sets no limit, or leaves the choice to the module. FromJSON reads the result as a
// pipeline that trains and searches in the same way. It is a view: a pipeline is identified and
// stored by JSON, which is shorter.
func (p Pipeline) Effective() ([]byte, error) {
	shown := effective{Name: p.Name, Module: p.Module, Concurrency: p.Concurrency, Trainer: effectiveTrainer{
		Trainer: p.Trainer, Window: p.Trainer.Window, Deterministic: p.Trainer.Deterministic,
	}}
	t := &shown.Trainer
	t.Model = cmp.Or(t.Model, ModelSaved)
	t.MaxLost = cmp.Or(t.MaxLost, DefaultMaxLost)
	if t.Hyperparameters == HyperparametersAuto {
		t.Hyperparameters = HyperparametersLatest
		if p.ownHyperparameters() {
			t.Hyperparameters = HyperparametersRun
		}
	}
	if p.Tuner != nil {
		shown.Tuner = p.effectiveTuner()
	}
	text, err := json.Marshal(shown)
	if err != nil {
		return nil, fmt.Errorf("effective configuration of pipeline %s: %w", p.Name, err)
	}
	return text, nil
}

// effectiveTuner adds the values that Search takes from the trainer. Keys missing in a study are
// the module's choice.
func (p Pipeline) effectiveTuner() *effectiveTuner {
	search := p.Search()
	t := effectiveTuner{Tuner: *p.Tuner}
	if t.When == TuneChanged {
		drift := t.DriftAllowed()
		t.Drift = &drift
	}
	t.TrainArgs, t.EvalArgs, t.Resources = &search.TrainArgs, &search.EvalArgs, &search.Resources
	t.CustomConfig = search.CustomConfig
	if search.Validated() {
		t.EvalArgs = nil // not read
	}
	t.MaxAttempts, t.MaxCrashes, t.MaxLost = search.MaxAttempts, search.MaxCrashes, cmp.Or(search.MaxLost, DefaultMaxLost)
	if search.Study == nil {
		return &t
	}
	t.Study = &effectiveStudy{Study: *search.Study, BestModel: search.Study.BestModel}
	if v := search.Study.Validation; v != nil {
		t.Study.Validation = &effectiveValidation{v.Folds, cmp.Or(v.Order, FoldsRandom)}
	}
	t.Study.Objective = slices.Clone(t.Study.Objective)
	for i, o := range t.Study.Objective {
		if direction, known := tune.DirectionOf(o.Name); o.Direction == "" && known {
			t.Study.Objective[i].Direction = string(direction)
		}
	}
	return &t
}

// Masked returns Effective without its secrets. FromJSON rejects the placeholders in the result;
// see package mask.
func (p Pipeline) Masked() (json.RawMessage, error) {
	text, err := p.Effective()
	if err != nil {
		return nil, err
	}
	return mask.JSON(text), nil
}

// defaults returns the pipeline with the defaults of a file. The splits are TFX's.
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

// infer sets the values that follow from other keys.
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

// ownHyperparameters reports whether a run can't train before its own hyperparameters exist.
func (p *Pipeline) ownHyperparameters() bool {
	policy := p.Trainer.Hyperparameters
	return policy == HyperparametersRun || policy == HyperparametersAuto && p.Tuner != nil
}
