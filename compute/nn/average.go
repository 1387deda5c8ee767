package nn

import (
	"fmt"
	"math"

	"gorgonia.org/gorgonia"
)

// average moves the two params of a Standardize after each step of a training.
type average struct {
	layer           string
	momentum        float64
	epsilon         float64
	mean, deviation []float32      // the params' values
	batchMean       *gorgonia.Node // of the expression, as batchVariance: [1, width]
	batchVariance   *gorgonia.Node
}

func newAverage(n *Node, params map[string]*Param, mean, variance *gorgonia.Node) average {
	return average{
		layer: n.Name, momentum: n.Attr.Momentum, epsilon: n.Attr.Epsilon,
		mean: params[n.In[1]].Values, deviation: params[n.In[2]].Values, batchMean: mean, batchVariance: variance,
	}
}

// move takes in a batch's statistics, as the comment of BatchNormalization says.
func (a average) move(mean, variance []float32) error {
	if len(mean) != len(a.mean) || len(variance) != len(a.deviation) {
		return fmt.Errorf("layer %q: statistics of %d and %d columns, expected %d", a.layer, len(mean), len(variance), len(a.mean))
	}
	keep, take := a.momentum, 1-a.momentum
	for j := range a.mean {
		square := float64(a.deviation[j]) * float64(a.deviation[j])
		a.mean[j] = float32(float64(a.mean[j])*keep + float64(mean[j])*take)
		a.deviation[j] = float32(math.Sqrt(square*keep + (float64(variance[j])+a.epsilon)*take))
	}
	return nil
}
