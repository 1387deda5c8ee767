package estimator

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
)

// LinearColumn is a feature column that a linear model takes: Numeric, and what gives ids.
type LinearColumn interface {
	// Name is TensorFlow's for the column, and stands in the names of its variables.
	Name() string

	// weigh gives the column's share of the logits [b, units].
	weigh(c *columns, units int) (nn.Ref, error)
}

// DenseColumn is a feature column that a deep model takes: Numeric, Indicator, Embedding and Bucketized.
type DenseColumn interface {
	// Name is TensorFlow's for the column, and stands in the names of its variables.
	Name() string

	// numbers gives the column as numbers [b, n].
	numbers(c *columns) (nn.Ref, error)
}

// CategoricalColumn is a feature column that gives ids: Identity, Hash, Vocabulary, Bucketized and Crossed.
type CategoricalColumn interface {
	LinearColumn

	// ids gives the column as ids.
	ids(c *columns) (categories, error)
}

// columns is a network under construction, and what features it has taken so far: a feature is an input once, however many
// columns take it.
type columns struct {
	*nn.Builder
	spec   example.Spec
	inputs map[string]nn.Ref
	made   map[string]nn.Ref // by name, or what they are
	named  map[string]bool

	defaults map[string]example.Default // for what a row lacks of a feature without a shape
}

func newColumns(b *nn.Builder, spec example.Spec) *columns {
	return &columns{
		Builder: b, spec: spec, inputs: map[string]nn.Ref{}, made: map[string]nn.Ref{}, named: map[string]bool{},
		defaults: map[string]example.Default{},
	}
}

// feature is the input of that key, which must be of one of those kinds. One without a shape has one place, as has a scalar.
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

// once makes a value of that name the first time it is asked for.
func (c *columns) once(name string, make func(name string) nn.Ref) nn.Ref {
	if _, ok := c.made[name]; !ok {
		c.made[name] = make(name)
	}
	return c.made[name]
}

// shared makes what columns that are the same have in common, as the linear and the deep part may, and what differs twice
// although it has one name.
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

// byName sorts columns as TensorFlow does before it puts them side by side, so that rows of a kernel mean the same here and
// there. A name must not stand twice.
func byName[T interface{ Name() string }](columns []T) ([]T, error) {
	sorted := slices.SortedFunc(slices.Values(columns), func(a, b T) int { return cmp.Compare(a.Name(), b.Name()) })
	for i := 1; i < len(sorted); i++ {
		if sorted[i].Name() == sorted[i-1].Name() {
			return nil, fmt.Errorf("two columns are called %q", sorted[i].Name())
		}
	}
	return sorted, nil
}
