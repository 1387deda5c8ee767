package estimator

import (
	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/initializer"
)

// Numeric is a numeric_column: the feature's numbers as they are, integers too. Its width is that of the feature.
type Numeric struct{ Key string }

// Name is the key.
func (n Numeric) Name() string { return n.Key }

func (n Numeric) numbers(c *columns) (nn.Ref, error) {
	x, err := c.feature(n.Key, example.Float, example.Int64)
	if err != nil || x.Type.Kind == nn.Float32 {
		return x, err
	}
	return c.once("features/"+n.Key+"/float", func(name string) nn.Ref { return c.Cast(name, x) }), nil
}

// weigh is x W, with W [width, units] from 0.
func (n Numeric) weigh(c *columns, units int) (nn.Ref, error) {
	x, err := n.numbers(c)
	if err != nil {
		return nn.Ref{}, err
	}
	return c.Matrix(linearScope+n.Name()+"/product", linearWeights(n), initializer.Zeros, x, units), nil
}
