package builtin

import (
	"fmt"
	"slices"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/initializer"
	"github.com/stoker-ml/stoker/compute/nn/optim"
	"github.com/stoker-ml/stoker/functions/module"
)

// layersConfig configures the hidden layers.
type layersConfig struct {
	Dropout            float64 `json:"dropout,omitempty"`
	BatchNormalization bool    `json:"batch_normalization,omitempty"`
	L1                 float64 `json:"l1,omitempty"`
	L2                 float64 `json:"l2,omitempty"`
	Initializer        string  `json:"initializer,omitempty"`
}

// maxPenalty is the limit beyond which a factor is a mistake: a weight of 1 would outweigh any
// loss.
const maxPenalty = 1e6

func (l layersConfig) check() error {
	if !(l.Dropout >= 0 && l.Dropout < 1) {
		return fmt.Errorf("custom_config: dropout: expected a number from 0 to below 1, got %v", l.Dropout)
	}
	for _, factor := range []keyed{{"l1", l.L1}, {"l2", l.L2}} {
		if !(factor.number >= 0 && factor.number <= maxPenalty) {
			return fmt.Errorf("custom_config: %s: expected a number from 0 to %g, got %v", factor.key, float64(maxPenalty), factor.number)
		}
	}
	if l.Initializer == "" {
		return nil
	}
	if _, err := initializer.Named(l.Initializer); err != nil {
		return fmt.Errorf("custom_config: initializer: %w", err)
	}
	return nil
}

// checkHidden returns an error for keys that only apply to hidden layers.
func (l layersConfig) checkHidden(custom map[string]any) error {
	for _, key := range []string{"hidden_units", "dropout", "batch_normalization"} {
		if custom[key] != nil {
			return fmt.Errorf("custom_config: %s: %slinear has no hidden layers", key, module.BuiltinPrefix)
		}
	}
	return nil
}

// dense adds a dense layer with a kernel as custom_config describes it. Biases, embeddings and the
// wide part's weights, which have an optimizer of their own, have no penalty.
func (b networkBuilder) dense(name string, x nn.Ref, units int, activation nn.Op) nn.Ref {
	c := b.config
	return b.DenseWith(name, x, units, nn.DenseOptions{Activation: activation, Kernel: nn.ParamOptions{
		Initializer: c.initializer(), Penalty: nn.Penalty{L1: c.L1, L2: c.L2},
	}})
}

// hidden adds a hidden layer: dense, normalized if configured, activated, and with dropout in
// training.
func (b networkBuilder) hidden(name string, x nn.Ref, units int, activation nn.Op) nn.Ref {
	if !b.config.BatchNormalization {
		x = b.dense(name, x, units, activation)
	} else {
		x = b.BatchNormalization(name+"/batch_normalization", b.dense(name, x, units, ""), nn.BatchNorm{})
		if activation != "" {
			x = b.Activation(name+"/"+string(activation), x, activation)
		}
	}
	return b.Dropout(name+"/dropout", x, b.config.Dropout)
}

// initializer returns nil for the default of a dense layer.
func (l layersConfig) initializer() initializer.Func {
	if l.Initializer == "" {
		return nil
	}
	init, _ := initializer.Named(l.Initializer) // check has validated it
	return init
}

// wideDeep is the module whose logits are the sum of those of a dnn and of a linear model over
// classes (Cheng et al. 2016). Each part has its own optimizer.
const wideDeep = "wide_deep"

// widePrefix begins the names of the weights of the linear part; all others belong to the deep
// part.
const widePrefix = "linear/"

// class is a feature as ids; the wide part has a weight for each.
type class struct {
	layer string
	ids   nn.Ref
	depth int
}

// wide adds the linear part to the logits: a weight, initially 0, for each class of each feature,
// and for each bucket of a cross.
func (b networkBuilder) wide(logits nn.Ref, crosses []class) (nn.Ref, error) {
	if len(*b.seen)+len(crosses) == 0 {
		return nn.Ref{}, fmt.Errorf("no feature has classes, of which the wide part of %s%s learns: %sdnn is the same without it",
			module.BuiltinPrefix, wideDeep, module.BuiltinPrefix)
	}
	return b.weighed(logits, widePrefix, slices.Concat(*b.seen, crosses)), nil
}

// weighed adds to the logits a weight, initially 0, for each class.
func (b networkBuilder) weighed(logits nn.Ref, prefix string, of []class) nn.Ref {
	units := logits.Type.Width
	for _, f := range of {
		weights := b.Table(prefix+f.layer+"/lookup", prefix+f.layer+"/weights", initializer.Zeros, f.ids, f.depth, units)
		for i := range f.ids.Type.Width { // a feature may have several values
			place := fmt.Sprintf("%s%s/%d", prefix, f.layer, i)
			logits = b.Add(place+"/sum", logits, b.Slice(place, weights, i*units, (i+1)*units))
		}
	}
	return logits
}

// wideConfig configures the training of the linear part.
type wideConfig struct {
	LinearOptimizer    string   `json:"linear_optimizer,omitempty"`
	LinearLearningRate float64  `json:"linear_learning_rate,omitempty"`
	LinearSchedule     schedule `json:"linear_learning_rate_schedule,omitempty"`
}

// wideOf returns the defaults of the module of that name.
func wideOf(name string) wideConfig {
	if name != wideDeep {
		return wideConfig{}
	}
	return wideConfig{LinearOptimizer: "ftrl", LinearLearningRate: 0.05}
}

// check returns an error for invalid values, and, in other modules than wide_deep, for keys that
// don't apply.
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
	if single, ok := o.(*optim.Single); ok {
		if ftrl, ok := single.Algorithm().(*optim.FTRL); ok {
			ftrl.Warm = true // keep the weights of a base model
		}
	}
	schedule, err := w.linearSchedule()
	if err != nil {
		return nil, err
	}
	return optim.WithSettings(o, optim.Settings{Schedule: schedule})
}

// optimizerOf returns one optimizer for the whole model, or one for each part.
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
