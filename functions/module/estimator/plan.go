package estimator

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/initializer"
	"github.com/stoker-ml/stoker/compute/nn/optim"
	"github.com/stoker-ml/stoker/compute/tf/warmstart"
	"github.com/stoker-ml/stoker/compute/train"
)

// plan is the common form of the canned Estimators: a wide part, a deep part, or both, and a head.
type plan struct {
	config RunConfig
	head   head
	weight string // feature; "": all rows weigh the same

	linear          []LinearColumn
	linearOptimizer optim.Optimizer
	linearRate      float64 // of the default optimizer, at most

	deep          []DenseColumn
	deepOptimizer optim.Optimizer
	hiddenUnits   []int
	activation    nn.Op
	dropout       float64
}

// The learning rates of TensorFlow's canned Estimators; its comments call them a historical
// artifact.
const (
	combinedLinearRate = 0.005
	linearAloneRate    = 0.2
	deepRate           = 0.001
)

// network is a built plan: the model, and the optimizer of each part.
type network struct {
	*nn.Model
	optimizer optim.Optimizer
	defaults  map[string]example.Default // for missing values of a feature
	classes   []string                   // their names; nil for a number, and if they are unknown
}

// build builds the network: logits = wide + deep.
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
	m.Reduction = nn.SumOverBatchSize // the reduction of TensorFlow's heads
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

// optimizer returns one optimizer for each part that exists.
func (p plan) optimizer(m *nn.Model) (optim.Optimizer, error) {
	var parts []optim.Part
	if len(p.deep) > 0 {
		o := p.deepOptimizer
		if o == nil {
			o = optim.NewSingle(&optim.Adagrad{LearningRate: deepRate, InitialAccumulator: 0.1, Epsilon: 1e-7})
		}
		parts = append(parts, optim.Part{Prefix: deepPrefix, Optimizer: o})
	}
	if len(p.linear) > 0 {
		o := p.linearOptimizer
		if o == nil {
			rate := min(p.linearRate, 1/math.Sqrt(float64(len(p.linear))))
			o = optim.NewSingle(&optim.FTRL{LearningRate: rate, InitialAccumulator: 0.1, Warm: true})
		}
		parts = append(parts, optim.Part{Prefix: linearPrefix, Optimizer: o})
	}
	o, err := optim.NewParts(m.Trainable(), parts...)
	if err != nil {
		return nil, fmt.Errorf("optimizers: %w", err)
	}
	return o, nil
}

// narrow builds the deep part: concatenated columns, dense hidden layers, each with its dropout,
// logits.
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

// deepActivation returns the activation of the hidden layers.
func (p plan) deepActivation() nn.Op {
	if p.activation == "" {
		return nn.OpRelu
	}
	return p.activation
}

// The names of variables in TensorFlow's canned Estimators.
const (
	linearPrefix = "linear/"
	linearScope  = linearPrefix + "linear_model/"
	deepPrefix   = "dnn/"
	inputScope   = deepPrefix + "input_from_feature_columns/input_layer/"
)

func linearWeights(column LinearColumn) string { return linearScope + column.Name() + "/weights" }

// linear builds the wide part: logits = sum over columns of their weights + bias, all initially 0.
func linear(c *columns, of []LinearColumn, units int) (nn.Ref, error) {
	sorted, err := byName(of)
	if err != nil {
		return nn.Ref{}, fmt.Errorf("linear feature columns: %w", err)
	}
	var sum nn.Ref
	for i, column := range sorted {
		share, err := column.weigh(c, units)
		switch {
		case err != nil:
			return nn.Ref{}, fmt.Errorf("linear feature columns: %w", err)
		case i == 0:
			sum = share
		default:
			sum = c.Add(linearScope+column.Name()+"/sum", sum, share)
		}
	}
	return c.Bias(linearScope+"logits", linearScope+"bias_weights", sum), nil
}

// weighIDs looks up a weight for the id of each value of the feature, and sums them: the combiner
// sum.
func weighIDs(c *columns, column CategoricalColumn, units int) (nn.Ref, error) {
	of, err := column.ids(c)
	if err != nil {
		return nn.Ref{}, err
	}
	scope := linearScope + column.Name()
	return c.sum(c.Table(scope+"/lookup", linearWeights(column), initializer.Zeros, of.ids, of.depth, units), units, of, scope), nil
}

// head is TensorFlow's term for the meaning of the logits, their loss, and the outputs.
type head struct {
	classes    int // 0: the label is a number
	vocabulary []string
}

// classifierHead has 2 classes by default.
func classifierHead(classes int, vocabulary []string) (head, error) {
	if classes == 0 {
		classes = max(2, len(vocabulary))
	}
	if classes < 2 || vocabulary != nil && len(vocabulary) != classes {
		return head{}, fmt.Errorf("%d classes and a label vocabulary of %d words, expected at least 2 and as many", classes,
			len(vocabulary))
	}
	return head{classes, vocabulary}, nil
}

// units returns the width of the logits.
func (h head) units() int {
	if h.classes <= 2 {
		return 1
	}
	return h.classes
}

func (h head) loss() nn.Loss {
	switch h.classes {
	case 0:
		return nn.MeanSquaredError{}
	case 2:
		return nn.SigmoidCrossEntropy{}
	}
	return nn.SoftmaxCrossEntropy{}
}

func (h head) label(feature string) train.Label {
	l := train.Label{Feature: feature, Classes: h.units(), Vocabulary: h.vocabulary}
	if h.classes == 0 {
		l.Classes = 0
	}
	return l
}

// answer names the outputs like the predict signature of Estimators.
func (h head) answer(b *nn.Builder, logits nn.Ref) {
	if h.classes == 0 {
		b.Output("predictions", logits)
		return
	}
	b.Output("logits", logits)
	two := logits
	switch h.classes {
	case 2: // softmax(0, z) = (sigmoid(-z), sigmoid(z)); z > -z if and only if z > 0
		logistic, negative := b.Activation("head/logistic", logits, nn.OpSigmoid), b.Apply("head/negative", logits, nn.OpNeg)
		b.Output("logistic", logistic)
		b.Output("probabilities", b.Concat("head/probabilities", b.Activation("head/other", negative, nn.OpSigmoid), logistic))
		two = b.Concat("head/two_class_logits", negative, logits)
	default:
		b.Output("probabilities", b.Activation("head/probabilities", logits, nn.OpSoftmax))
	}
	ids := b.ArgMax("head/class_ids", two)
	b.Output("class_ids", ids)
	b.Output("classes", b.Label("head/classes", ids, h.names()))
}

// classNames returns the names of the classes. The label may be an index into a vocabulary.
func (h head) classNames(label, transformGraph string) ([]string, error) {
	if h.classes == 0 {
		return nil, nil
	}
	return warmstart.ClassNames(h.classes, h.vocabulary, label, transformGraph)
}

// names returns the names of the classes: 0, 1, 2 ... if there are no others.
func (h head) names() []string {
	if h.vocabulary != nil {
		return h.vocabulary
	}
	names := make([]string, h.classes)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	return names
}
