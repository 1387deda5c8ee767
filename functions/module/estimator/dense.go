package estimator

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/stoker-ml/stoker/compute/nn"
)

// Indicator is an indicator_column: one-hot. A feature with several places has how often each id is there.
type Indicator struct{ Of CategoricalColumn }

// Name is the categorical column's, and _indicator.
func (i Indicator) Name() string { return i.Of.Name() + "_indicator" }

func (i Indicator) numbers(c *columns) (nn.Ref, error) {
	x, depth, err := c.oneHots(i.Of)
	if err != nil || x.Type.Width == depth {
		return x, err
	}
	return c.places(x, depth, "features/"+i.Name()), nil
}

// oneHot is TensorFlow's way with buckets: the places of a feature stay side by side.
func oneHot(c *columns, of CategoricalColumn) (nn.Ref, error) {
	x, _, err := c.oneHots(of)
	return x, err
}

func (c *columns) oneHots(of CategoricalColumn) (x nn.Ref, depth int, err error) {
	ids, depth, err := of.ids(c)
	if err != nil {
		return x, 0, err
	}
	return c.once("features/"+of.Name()+"/one_hot", func(name string) nn.Ref { return c.OneHot(name, ids, depth) }), depth, nil
}

// places adds up the parts of x that belong to the places of a feature, each of that width.
func (c *columns) places(x nn.Ref, width int, name string) nn.Ref {
	sum := c.Slice(name+"/0", x, 0, width)
	for i := 1; i < x.Type.Width/width; i++ {
		next := c.Slice(fmt.Sprintf("%s/%d", name, i), x, i*width, (i+1)*width)
		sum = c.Add(fmt.Sprintf("%s/sum_%d", name, i), sum, next)
	}
	return sum
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
	ids, depth, err := e.Of.ids(c)
	if err != nil {
		return nn.Ref{}, err
	}
	if e.Dimension < 1 {
		return nn.Ref{}, fmt.Errorf("column %q: dimension %d, expected at least 1", e.Name(), e.Dimension)
	}
	deviation := 1 / math.Sqrt(float64(e.Dimension))
	param := inputScope + e.Name() + "/embedding_weights"
	x := c.Table(inputScope+e.Name()+"/lookup", param, truncatedNormal(deviation), ids, depth, e.Dimension)
	if ids.Type.Width == 1 {
		return x, nil
	}
	sum := c.places(x, e.Dimension, "features/"+e.Name())
	return c.Mul("features/"+e.Name()+"/mean", sum, c.Constant("features/"+e.Name()+"/share", 1/float32(ids.Type.Width))), nil
}

// truncatedNormal draws anew what is beyond two deviations, as tf.random.truncated_normal does.
func truncatedNormal(deviation float64) nn.Initializer {
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
