package estimator

import (
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/compute/nn"
)

// narrow is the deep part: columns side by side, dense hidden layers, each with its dropout, logits.
func (p plan) narrow(c *columns) (nn.Ref, error) {
	sorted, err := byName(p.deep)
	if err != nil {
		return nn.Ref{}, fmt.Errorf("dnn feature columns: %w", err)
	}
	if len(p.hiddenUnits) == 0 {
		return nn.Ref{}, errors.New("dnn hidden units: missing, expected the size of each hidden layer")
	}
	if !(p.dropout >= 0 && p.dropout < 1) {
		return nn.Ref{}, fmt.Errorf("dnn dropout %g: expected a number from 0 to below 1", p.dropout)
	}
	var parts []nn.Ref
	for _, column := range sorted {
		x, err := column.numbers(c)
		if err != nil {
			return nn.Ref{}, fmt.Errorf("dnn feature columns: %w", err)
		}
		parts = append(parts, x)
	}
	x := c.Concat(inputScope+"concat", parts...)
	for i, size := range p.hiddenUnits {
		layer := fmt.Sprintf("%shiddenlayer_%d", deepPrefix, i)
		x = c.Dropout(layer+"/dropout", c.Dense(layer, x, size, p.deepActivation()), p.dropout)
	}
	return c.Dense(deepPrefix+"logits", x, p.head.units(), ""), nil
}

// deepActivation is that of the hidden layers.
func (p plan) deepActivation() nn.Op {
	if p.activation == "" {
		return nn.OpRelu
	}
	return p.activation
}
