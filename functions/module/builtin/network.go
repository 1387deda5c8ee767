package builtin

import (
	"fmt"
	"math"
	"strings"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/train"
)

// network is a model for a dataset.
type network struct {
	model    *nn.Model
	defaults map[string]example.Default // for raw features that a row lacks
	feed     train.Feed
	classes  []string // their names; nil for a number, and if they are unknown
	task     task
}

// Up to maxOneHot classes are one-hot encoded, more are embedded. A feature has at most maxClasses.
const (
	maxOneHot  = 100
	maxClasses = 1 << 20
)

// networkBuilder assembles the layers.
type networkBuilder struct {
	*nn.Builder
	config   config
	data     dataset
	survey   *survey
	defaults map[string]example.Default
	seen     *[]class
	inputs   map[string]nn.Ref // by feature
}

func newNetwork(c config, d dataset, s *survey) (network, error) {
	goal, err := newGoal(c, d, s)
	if err != nil {
		return network{}, err
	}
	b := networkBuilder{nn.NewBuilder(nn.NewRand(c.Seed)), c, d, s, map[string]example.Default{}, new([]class), map[string]nn.Ref{}}
	logits, err := b.layers(goal)
	if err != nil {
		return network{}, err
	}
	b.outputs(goal, logits)
	g, err := b.Graph()
	if err != nil {
		return network{}, err
	}
	m, err := nn.NewModel(g, logits.Name, goal.loss)
	if err != nil {
		return network{}, err
	}
	m.Reduction, m.ClassWeights = nn.SumOverBatchSize, goal.classWeights
	return network{model: m, task: goal.task, defaults: b.defaults, feed: train.Feed{
		Inputs: g.Inputs, Defaults: b.defaults, AllowNaN: !d.transformed, Label: goal.label, Weight: d.weight.Name, AllowIdle: true,
	}}, nil
}

// layers builds the network from the features to the logits.
func (b networkBuilder) layers(g goal) (nn.Ref, error) {
	var columns []nn.Ref
	for _, f := range b.data.inputs {
		column, err := b.column(f)
		if err != nil {
			return nn.Ref{}, fmt.Errorf("feature %q: %w", f.Name, err)
		}
		columns = append(columns, column)
	}
	crosses, err := b.crosses()
	if err != nil {
		return nn.Ref{}, err
	}
	// The linear part, if there is one, learns the crosses.
	ofClasses := len(b.config.HiddenUnits) == 0 || b.config.LinearOptimizer != ""
	for _, cross := range crosses {
		if !ofClasses {
			columns = append(columns, b.classColumn(cross))
		}
	}
	x := columns[0]
	if len(columns) > 1 {
		x = b.Concat("features", columns...)
	}
	activation, err := nn.ActivationNamed(b.config.Activation)
	if err != nil {
		return nn.Ref{}, err
	}
	for i, units := range b.config.HiddenUnits {
		x = b.hidden(fmt.Sprintf("dense_%d", i+1), x, units, activation)
	}
	logits := b.dense("logits", x, g.width(), "")
	switch {
	case b.config.LinearOptimizer != "":
		return b.wide(logits, crosses)
	case ofClasses:
		return b.weighed(logits, "", crosses), nil
	}
	return logits, nil
}

// crosses returns the buckets of the crossed features.
func (b networkBuilder) crosses() ([]class, error) {
	crossed, err := b.data.crossed(b.config.chosenConfig)
	var all []class
	for _, features := range crossed {
		var names []string
		var columns []nn.Ref
		for _, f := range features {
			names, columns = append(names, f.Name), append(columns, b.inputs[f.Name])
		}
		layer, depth := crossPrefix+strings.Join(names, "_x_"), b.config.CrossBuckets
		all = append(all, class{layer, b.Cross(layer+"/cross", depth, columns...), depth})
	}
	return all, err
}

// outputs names the outputs: logits and probabilities of classes, or predictions.
func (b networkBuilder) outputs(g goal, logits nn.Ref) {
	if g.task == regression {
		b.Output("predictions", logits)
		return
	}
	b.Output("logits", logits)
	b.Output("probabilities", g.loss.Predict(b.Builder, "probabilities", logits))
}

// column turns one feature into numbers.
func (b networkBuilder) column(f example.Feature) (nn.Ref, error) {
	layer := "features/" + f.Name
	switch f.Kind {
	case example.Bytes:
		x := b.feature(f, nn.String)
		if len(f.Vocabulary) == 0 {
			return b.classes(layer, b.Hash(layer+"/hash", x, b.config.HashBuckets), b.config.HashBuckets), nil
		}
		return b.classes(layer, b.Vocabulary(layer+"/vocabulary", x, f.Vocabulary), len(f.Vocabulary)+1), nil
	case example.Int64:
		if f.Categorical {
			return b.identity(layer, f)
		}
		x := b.feature(f, nn.Int64)
		b.absent(f, example.Default{Int64: int64(math.Round(b.survey.numbers[f.Name][0].mean))})
		return b.scaled(layer, f, b.Cast(layer+"/cast", x)), nil
	}
	x := b.feature(f, nn.Float32)
	if b.data.transformed {
		return x, nil
	}
	b.absent(f, example.Default{Float: float32(math.NaN())})
	return b.scaled(layer, f, x), nil
}

// identity returns a class for each integer of the domain from 0. -1, to which tf.Transform maps a
// word outside its vocabulary, counts as one of all other values.
func (b networkBuilder) identity(layer string, f example.Feature) (nn.Ref, error) {
	first, last := domain(f, b.survey.numbers[f.Name])
	if first < -1 || last >= maxClasses-1 {
		return nn.Ref{}, fmt.Errorf("%w: categorical with values %v to %v, expected -1 to at most %d",
			example.ErrInput, first, last, maxClasses-2)
	}
	depth := int(last) + 2
	b.absent(f, example.Default{Int64: -1})
	return b.classes(layer, b.Clamp(layer+"/clamp", b.feature(f, nn.Int64), depth), depth), nil
}

// domain returns the range in the schema, with open ends closed by the values seen.
func domain(f example.Feature, seen []moments) (first, last float64) {
	for i, m := range seen {
		if i == 0 {
			first, last = m.min, m.max
		}
		first, last = min(first, m.min), max(last, m.max)
	}
	if f.IntRange != nil && f.IntRange.Min != math.MinInt64 {
		first = float64(f.IntRange.Min)
	}
	if f.IntRange != nil && f.IntRange.Max != math.MaxInt64 {
		last = float64(f.IntRange.Max)
	}
	return first, last
}

func (b networkBuilder) classes(layer string, ids nn.Ref, depth int) nn.Ref {
	c := class{layer, ids, depth}
	*b.seen = append(*b.seen, c)
	return b.classColumn(c)
}

// classColumn returns the input of a deep network for classes.
func (b networkBuilder) classColumn(c class) nn.Ref {
	if c.depth <= maxOneHot {
		return b.OneHot(c.layer+"/one_hot", c.ids, c.depth)
	}
	return b.Embedding(c.layer, c.ids, c.depth, b.config.EmbeddingDim)
}

// feature returns the input of a feature.
func (b networkBuilder) feature(f example.Feature, kind nn.ValueKind) nn.Ref {
	b.inputs[f.Name] = b.Input(f.Name, kind, width(f))
	return b.inputs[f.Name]
}

func (b networkBuilder) standardized(layer string, f example.Feature, x nn.Ref) nn.Ref {
	var mean, scale []float32
	for _, m := range b.survey.numbers[f.Name] {
		mean, scale = append(mean, float32(m.mean)), append(scale, float32(m.scale()))
	}
	return b.Normalize(layer, x, mean, scale)
}

// absent sets the default of a feature that a row may lack: one with a shape must be present.
func (b networkBuilder) absent(f example.Feature, d example.Default) {
	if f.VarLen() {
		b.defaults[f.Name] = d
	}
}
