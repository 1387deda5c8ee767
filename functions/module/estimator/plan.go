package estimator

import (
	"errors"
	"fmt"
	"math"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/optim"
)

// plan is what the canned Estimators come down to: a wide part, a deep part, or both, and a head.
type plan struct {
	config RunConfig
	head   head
	weight string // feature; "": all rows count the same

	linear          []LinearColumn
	linearOptimizer optim.Optimizer
	linearRate      float64 // of the default optimizer, at most

	deep          []DenseColumn
	deepOptimizer optim.Optimizer
	hiddenUnits   []int
	activation    nn.Op
	dropout       float64
}

// The learning rates of TensorFlow's canned Estimators; its comments call them a historical artifact.
const (
	combinedLinearRate = 0.005
	linearAloneRate    = 0.2
	deepRate           = 0.001
)

// network is a plan that was built: the model, and the optimizer of each part.
type network struct {
	*nn.Model
	optimizer optim.Optimizer
	defaults  map[string]example.Default // for what a row lacks of a feature
	classes   []string                   // their names; nil for a number, and where they aren't known
}

// build makes the network: logits = wide + deep.
func (p plan) build(spec example.Spec, seed int64) (network, error) {
	c := newColumns(nn.NewBuilder(nn.NewRand(seed)), spec)
	logits, err := p.logits(c)
	if err != nil {
		return network{}, err
	}
	p.head.answer(c.Builder, logits)
	g, err := c.Graph()
	if err != nil {
		return network{}, err
	}
	m, err := nn.NewModel(g, logits.Name, p.head.loss())
	if err != nil {
		return network{}, err
	}
	m.Reduction = nn.SumOverBatchSize // that of TensorFlow's heads
	o, err := p.optimizer(m)
	return network{Model: m, optimizer: o, defaults: c.defaults}, err
}

func (p plan) logits(c *columns) (nn.Ref, error) {
	if len(p.linear)+len(p.deep) == 0 {
		return nn.Ref{}, errors.New("feature columns: missing, expected what to learn from")
	}
	var wide, narrow nn.Ref
	var err error
	if len(p.deep) > 0 {
		narrow, err = p.narrow(c)
	}
	if err == nil && len(p.linear) > 0 {
		wide, err = linear(c, p.linear, p.head.units())
	}
	switch {
	case err != nil || len(p.linear) == 0:
		return narrow, err
	case len(p.deep) == 0:
		return wide, nil
	}
	return c.Add("head/logits", narrow, wide), nil
}

// optimizer is one for each part that is there.
func (p plan) optimizer(m *nn.Model) (optim.Optimizer, error) {
	var parts []optim.Part
	if len(p.deep) > 0 {
		o := p.deepOptimizer
		if o == nil {
			o = &optim.Adagrad{LearningRate: deepRate, InitialAccumulator: 0.1, Epsilon: 1e-7}
		}
		parts = append(parts, optim.Part{Prefix: deepPrefix, Optimizer: o})
	}
	if len(p.linear) > 0 {
		o := p.linearOptimizer
		if o == nil {
			rate := min(p.linearRate, 1/math.Sqrt(float64(len(p.linear))))
			o = &optim.FTRL{LearningRate: rate, InitialAccumulator: 0.1, Warm: true}
		}
		parts = append(parts, optim.Part{Prefix: linearPrefix, Optimizer: o})
	}
	o, err := optim.NewParts(m.Trainable(), parts...)
	if err != nil {
		return nil, fmt.Errorf("optimizers: %w", err)
	}
	return o, nil
}
