package builtin

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/initializer"
	"github.com/stoker-ml/stoker/functions/module"
)

// layersConfig says what stands in and beside the hidden layers.
type layersConfig struct {
	Dropout            float64 `json:"dropout,omitempty"`
	BatchNormalization bool    `json:"batch_normalization,omitempty"`
	L1                 float64 `json:"l1,omitempty"`
	L2                 float64 `json:"l2,omitempty"`
	Initializer        string  `json:"initializer,omitempty"`
}

// maxPenalty is where a factor is a mistake: a weight of 1 would outweigh any loss.
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

// checkHidden refuses what only hidden layers have a use for.
func (l layersConfig) checkHidden(custom map[string]any) error {
	for _, key := range []string{"hidden_units", "dropout", "batch_normalization"} {
		if custom[key] != nil {
			return fmt.Errorf("custom_config: %s: %slinear has no hidden layers", key, module.BuiltinPrefix)
		}
	}
	return nil
}

// dense is a dense layer with a kernel as custom_config has it. Biases, embeddings and the wide part's weights, which learn by an
// optimizer of their own, have no penalty.
func (b networkBuilder) dense(name string, x nn.Ref, units int, activation nn.Op) nn.Ref {
	c := b.config
	return b.DenseWith(name, x, units, nn.DenseOptions{Activation: activation, Kernel: nn.ParamOptions{
		Initializer: c.initializer(), Penalty: nn.Penalty{L1: c.L1, L2: c.L2},
	}})
}

// hidden is a hidden layer: dense, normalized where that is asked for, activated, and with dropout in training.
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

// initializer is nil for a dense layer's own.
func (l layersConfig) initializer() initializer.Func {
	if l.Initializer == "" {
		return nil
	}
	init, _ := initializer.Named(l.Initializer) // check has found it
	return init
}
