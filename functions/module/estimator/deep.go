package estimator

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/compute/nn"
)

// deep is the deep part: columns side by side, dense hidden layers, logits.
func deep(c *columns, of []DenseColumn, hidden []int, activation nn.Op, units int) (nn.Ref, error) {
	sorted, err := byName(of)
	if err != nil {
		return nn.Ref{}, fmt.Errorf("dnn feature columns: %w", err)
	}
	if len(hidden) == 0 {
		return nn.Ref{}, errors.New("dnn hidden units: missing, expected the size of each hidden layer")
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
	for i, size := range hidden {
		x = c.Dense(fmt.Sprintf("%shiddenlayer_%d", deepPrefix, i), x, size, cmp.Or(activation, nn.OpRelu))
	}
	return c.Dense(deepPrefix+"logits", x, units, ""), nil
}
