package estimator

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/initializer"
)

// Indicator is an indicator_column: one-hot. A feature with several places has how often each id is there.
type Indicator struct{ Of CategoricalColumn }

// Name is the categorical column's, and _indicator.
func (i Indicator) Name() string { return i.Of.Name() + "_indicator" }

func (i Indicator) numbers(c *columns) (nn.Ref, error) {
	x, of, err := c.oneHots(i.Of)
	if err != nil {
		return x, err
	}
	return c.shared(i.Of, "indicator", func(name string) nn.Ref { return c.sum(x, of.depth, of, name) }), nil
}

// oneHot is TensorFlow's way with buckets: the places of a feature stay side by side.
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

// Embedding is an embedding_column with the combiner mean: a trained vector for each id. The vectors begin as TensorFlow's do,
// normal with deviation 1/sqrt(Dimension), cut off at two deviations.
type Embedding struct {
	Of        CategoricalColumn
	Dimension int
}

// Name is the categorical column's, and _embedding.
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

// truncatedNormal draws anew what is beyond two deviations, as tf.random.truncated_normal does.
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
