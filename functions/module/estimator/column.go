package estimator

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/initializer"
)

// LinearColumn is a feature column of a linear model: Numeric, and the categorical ones.
type LinearColumn interface {
	// Name returns TensorFlow's name of the column, which is part of the names of its variables.
	Name() string

	// weigh returns the column's share of the logits [b, units].
	weigh(c *columns, units int) (nn.Ref, error)
}

// DenseColumn is a feature column of a deep model: Numeric, Indicator, Embedding and Bucketized.
type DenseColumn interface {
	// Name returns TensorFlow's name of the column, which is part of the names of its variables.
	Name() string

	// numbers returns the column as numbers [b, n].
	numbers(c *columns) (nn.Ref, error)
}

// CategoricalColumn is a feature column with ids: Identity, Hash, Vocabulary, Bucketized and
// Crossed.
type CategoricalColumn interface {
	LinearColumn

	// ids returns the column as ids.
	ids(c *columns) (categories, error)
}

// columns is a network under construction, with its inputs so far: a feature is one input, however
// many columns use it.
type columns struct {
	*nn.Builder
	spec   example.Spec
	inputs map[string]nn.Ref
	made   map[string]nn.Ref // by name, or what they are
	named  map[string]bool

	defaults map[string]example.Default // for missing values of a feature without a shape
}

func newColumns(b *nn.Builder, spec example.Spec) *columns {
	return &columns{
		Builder: b, spec: spec, inputs: map[string]nn.Ref{}, made: map[string]nn.Ref{}, named: map[string]bool{},
		defaults: map[string]example.Default{},
	}
}

// feature returns the input of that key, which must be of one of those kinds. A feature without a
// shape has one value, like a scalar.
func (c *columns) feature(key string, kinds ...example.Kind) (nn.Ref, error) {
	f, ok := c.spec.Find(key)
	switch {
	case !ok:
		return nn.Ref{}, fmt.Errorf("the data has no feature %q, expected one of %v", key, c.spec.Names())
	case f.Sequence:
		return nn.Ref{}, fmt.Errorf("feature %q is a sequence, and Estimators here learn from tables", key)
	case !slices.Contains(kinds, f.Kind):
		return nn.Ref{}, fmt.Errorf("feature %q is %v, expected %v", key, f.Kind, kinds)
	}
	if _, ok := c.inputs[key]; !ok {
		c.inputs[key] = c.Input(key, kindOf(f.Kind), max(f.Size(), 1))
	}
	return c.inputs[key], nil
}

func kindOf(k example.Kind) nn.ValueKind {
	switch k {
	case example.Int64:
		return nn.Int64
	case example.Bytes:
		return nn.String
	}
	return nn.Float32
}

// once returns the value of that name, and makes it at the first call.
func (c *columns) once(name string, make func(name string) nn.Ref) nn.Ref {
	if _, ok := c.made[name]; !ok {
		c.made[name] = make(name)
	}
	return c.made[name]
}

// shared returns the part that equal columns have in common, for example in the linear and the deep
// part. Different columns of one name are kept apart.
func (c *columns) shared(column CategoricalColumn, what string, make func(name string) nn.Ref) nn.Ref {
	key := fmt.Sprintf("%s %#v", what, column)
	if ref, ok := c.made[key]; ok {
		return ref
	}
	scope := "features/" + column.Name() + "/" + what
	name := scope
	for i := 2; c.named[name]; i++ {
		name = fmt.Sprintf("%s_%d", scope, i)
	}
	c.named[name] = true
	c.made[key] = make(name)
	return c.made[key]
}

// byName sorts columns as TensorFlow does before it concatenates them, so that the rows of a kernel
// have the same meaning. A duplicate name is an error.
func byName[T interface{ Name() string }](columns []T) ([]T, error) {
	sorted := slices.SortedFunc(slices.Values(columns), func(a, b T) int { return cmp.Compare(a.Name(), b.Name()) })
	for i := 1; i < len(sorted); i++ {
		if sorted[i].Name() == sorted[i-1].Name() {
			return nil, fmt.Errorf("two columns are called %q", sorted[i].Name())
		}
	}
	return sorted, nil
}

// Numeric is a numeric_column: the feature's numbers unchanged, also integers. Its width is that of
// the feature.
type Numeric struct{ Key string }

// Name returns the key.
func (n Numeric) Name() string { return n.Key }

func (n Numeric) numbers(c *columns) (nn.Ref, error) {
	x, err := c.feature(n.Key, example.Float, example.Int64)
	if err != nil || x.Type.Kind == nn.Float32 {
		return x, err
	}
	return c.once("features/"+n.Key+"/float", func(name string) nn.Ref { return c.Cast(name, x) }), nil
}

// weigh returns x W, with W [width, units] initially 0.
func (n Numeric) weigh(c *columns, units int) (nn.Ref, error) {
	x, err := n.numbers(c)
	if err != nil {
		return nn.Ref{}, err
	}
	return c.Matrix(linearScope+n.Name()+"/product", linearWeights(n), initializer.Zeros, x, units), nil
}

// Indicator is an indicator_column: one-hot. For a feature with several values it is the count of
// each id.
type Indicator struct{ Of CategoricalColumn }

// Name returns the categorical column's name, and _indicator.
func (i Indicator) Name() string { return i.Of.Name() + "_indicator" }

func (i Indicator) numbers(c *columns) (nn.Ref, error) {
	x, of, err := c.oneHots(i.Of)
	if err != nil {
		return x, err
	}
	return c.shared(i.Of, "indicator", func(name string) nn.Ref { return c.sum(x, of.depth, of, name) }), nil
}

// oneHot encodes buckets like TensorFlow: the values of a feature are concatenated.
func oneHot(c *columns, of CategoricalColumn) (nn.Ref, error) {
	x, _, err := c.oneHots(of)
	return x, err
}

func (c *columns) oneHots(column CategoricalColumn) (nn.Ref, categories, error) {
	of, err := column.ids(c)
	if err != nil {
		return nn.Ref{}, of, err
	}
	return c.shared(column, "one_hot", func(name string) nn.Ref { return c.OneHot(name, of.ids, of.depth) }), of, nil
}

// Embedding is an embedding_column with the combiner mean: a trained vector for each id. As in
// TensorFlow, the initial vectors are normal with deviation 1/sqrt(Dimension), truncated at two
// deviations.
type Embedding struct {
	Of        CategoricalColumn
	Dimension int
}

// Name returns the categorical column's name, and _embedding.
func (e Embedding) Name() string { return e.Of.Name() + "_embedding" }

func (e Embedding) numbers(c *columns) (nn.Ref, error) {
	of, err := e.Of.ids(c)
	if err != nil {
		return nn.Ref{}, err
	}
	if e.Dimension < 1 {
		return nn.Ref{}, fmt.Errorf("column %q: dimension %d, expected at least 1", e.Name(), e.Dimension)
	}
	deviation := 1 / math.Sqrt(float64(e.Dimension))
	scope := inputScope + e.Name()
	x := c.Table(scope+"/lookup", scope+"/embedding_weights", truncatedNormal(deviation), of.ids, of.depth, e.Dimension)
	return c.mean(x, e.Dimension, of, scope), nil
}

// truncatedNormal redraws values beyond two deviations, as tf.random.truncated_normal does.
func truncatedNormal(deviation float64) initializer.Func {
	return func(values []float32, _ []int, rng *rand.Rand) {
		for i := range values {
			x := rng.NormFloat64()
			for math.Abs(x) > 2 {
				x = rng.NormFloat64()
			}
			values[i] = float32(x * deviation)
		}
	}
}
