package builtin

import (
	"fmt"
	"slices"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/initializer"
	"github.com/stoker-ml/stoker/compute/nn/optim"
	"github.com/stoker-ml/stoker/functions/module"
)

// wideDeep is the module whose logits are those of a dnn and of a linear model over classes, added up (Cheng et al. 2016).
// Each part has an optimizer of its own.
const wideDeep = "wide_deep"

// widePrefix begins the names of the linear part's weights, which are all others' rest.
const widePrefix = "linear/"

// class is a feature as ids, which the wide part has a weight for each of.
type class struct {
	layer string
	ids   nn.Ref
	depth int
}

// wide adds the linear part to the logits: a weight from 0 for each class of each feature, and for each bucket of a cross.
func (b networkBuilder) wide(logits nn.Ref, crosses []class) (nn.Ref, error) {
	if len(*b.seen)+len(crosses) == 0 {
		return nn.Ref{}, fmt.Errorf("no feature has classes, of which the wide part of %s%s learns: %sdnn is the same without it",
			module.BuiltinPrefix, wideDeep, module.BuiltinPrefix)
	}
	return b.weighed(logits, widePrefix, slices.Concat(*b.seen, crosses)), nil
}

// weighed adds to the logits a weight from 0 for each class.
func (b networkBuilder) weighed(logits nn.Ref, prefix string, of []class) nn.Ref {
	units := logits.Type.Width
	for _, f := range of {
		weights := b.Table(prefix+f.layer+"/lookup", prefix+f.layer+"/weights", initializer.Zeros, f.ids, f.depth, units)
		for i := range f.ids.Type.Width { // a feature may have several places
			place := fmt.Sprintf("%s%s/%d", prefix, f.layer, i)
			logits = b.Add(place+"/sum", logits, b.Slice(place, weights, i*units, (i+1)*units))
		}
	}
	return logits
}

// wideConfig says how the linear part is trained.
type wideConfig struct {
	LinearOptimizer    string   `json:"linear_optimizer,omitempty"`
	LinearLearningRate float64  `json:"linear_learning_rate,omitempty"`
	LinearSchedule     schedule `json:"linear_learning_rate_schedule,omitempty"`
}

// wideOf is what the module of that name takes where nothing is said.
func wideOf(name string) wideConfig {
	if name != wideDeep {
		return wideConfig{}
	}
	return wideConfig{LinearOptimizer: "ftrl", LinearLearningRate: 0.05}
}

// check refuses what can't be, and of other modules than wide_deep what they have no use for.
func (w wideConfig) check(name string) error {
	if name != wideDeep {
		if w.LinearOptimizer != "" || w.LinearLearningRate != 0 || w.LinearSchedule != nil {
			return fmt.Errorf("custom_config: linear_optimizer, linear_learning_rate and linear_learning_rate_schedule are %s%s's: %s%s has one optimizer",
				module.BuiltinPrefix, wideDeep, module.BuiltinPrefix, name)
		}
		return nil
	}
	if err := checkOptimizer("linear_", w.LinearOptimizer, w.LinearLearningRate, w.LinearSchedule); err != nil {
		return err
	}
	_, err := w.linearSchedule()
	return err
}

func (w wideConfig) linearSchedule() (optim.Schedule, error) {
	return w.LinearSchedule.of("linear_learning_rate", w.LinearLearningRate)
}

func (w wideConfig) optimizer() (optim.Optimizer, error) {
	o, err := optim.New(w.LinearOptimizer, w.LinearLearningRate)
	if err != nil {
		return nil, err
	}
	if ftrl, ok := o.(*optim.FTRL); ok {
		ftrl.Warm = true // a base model's weights count
	}
	schedule, err := w.linearSchedule()
	if err != nil {
		return nil, err
	}
	return optim.WithSettings(o, optim.Settings{Schedule: schedule})
}

// optimizerOf is one for all of a model, or one for each part.
func (c config) optimizerOf(m *nn.Model) (optim.Optimizer, error) {
	deep, err := c.optimizer()
	if err != nil {
		return nil, err
	}
	settings, err := c.settings(c.LearningRate)
	if err != nil {
		return nil, err
	}
	if c.LinearOptimizer == "" {
		return optim.WithSettings(deep, settings)
	}
	if deep, err = optim.WithSettings(deep, optim.Settings{Schedule: settings.Schedule}); err != nil {
		return nil, err
	}
	wide, err := c.wideConfig.optimizer()
	if err != nil {
		return nil, err
	}
	both, err := optim.NewParts(m.Trainable(), optim.Part{Prefix: "", Optimizer: deep}, optim.Part{Prefix: widePrefix, Optimizer: wide})
	if err != nil {
		return nil, err
	}
	return optim.WithSettings(both, optim.Settings{Clip: settings.Clip})
}
