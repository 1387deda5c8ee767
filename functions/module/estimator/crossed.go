package estimator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
)

// Crossed is a crossed_column: the id is a hash of the values that a row has in two or more keys, the same as TensorFlow's. It is for a
// linear model, and in a deep one for Indicator and Embedding.
type Crossed struct {
	Keys        []CrossKey // Feature, Identity, Vocabulary or Bucketized
	HashBuckets int
}

// CrossKey is what Crossed takes: a feature as it stands, or the ids of a column. Of a Hash take its Feature: its ids say less.
type CrossKey interface {
	Name() string

	// crossed gives the values, and whether TensorFlow has them as a sparse tensor: those it crosses first.
	crossed(c *columns) (values categories, sparse bool, err error)
}

// Feature is the key of a feature of words or whole numbers, as it stands in a Crossed. Of one without a shape, the empty string and -1
// stand for what a row lacks.
type Feature string

// Name is the key.
func (f Feature) Name() string { return string(f) }

func (f Feature) crossed(c *columns) (categories, bool, error) {
	x, err := c.feature(string(f), example.Bytes, example.Int64)
	if err != nil {
		return categories{}, false, err
	}
	if spec, _ := c.spec.Find(string(f)); !spec.VarLen() {
		return categories{ids: x}, false, nil
	}
	if x.Type.Kind == nn.Int64 {
		c.defaults[string(f)] = example.Default{Int64: -1}
	}
	return categories{ids: x, present: c.present(string(f), x)}, true, nil
}

func (i Identity) crossed(c *columns) (categories, bool, error)   { return sparseIDs(c, i) }
func (v Vocabulary) crossed(c *columns) (categories, bool, error) { return sparseIDs(c, v) }
func (b Bucketized) crossed(c *columns) (categories, bool, error) { return sparseIDs(c, b) }

func sparseIDs(c *columns, column CategoricalColumn) (categories, bool, error) {
	of, err := column.ids(c)
	if err == nil && of.present.Name == "" && of.ids.Type.Width > 1 { // TensorFlow numbers the buckets of each place apart
		err = fmt.Errorf("column %q has %d numbers in a row, and a cross takes one", column.Name(), of.ids.Type.Width)
	}
	return of, true, err
}

// Name is the keys' names, sorted, with _X_ between them.
func (x Crossed) Name() string {
	var names []string
	for _, key := range x.Keys {
		names = append(names, key.Name())
	}
	slices.Sort(names)
	return strings.Join(names, "_X_")
}

func (x Crossed) ids(c *columns) (categories, error) {
	if len(x.Keys) < 2 || x.HashBuckets < 1 {
		return categories{}, fmt.Errorf("column %q: %d keys and %d buckets, expected 2 or more keys and a bucket", x.Name(), len(x.Keys), x.HashBuckets)
	}
	var sparse, dense []categories
	for _, key := range x.Keys {
		of, isSparse, err := key.crossed(c)
		switch {
		case err != nil:
			return categories{}, fmt.Errorf("column %q: %w", x.Name(), err)
		case isSparse:
			sparse = append(sparse, of)
		default:
			dense = append(dense, of)
		}
	}
	return x.cross(c, append(sparse, dense...))
}

// cross has a value where all its columns have one.
func (x Crossed) cross(c *columns, of []categories) (categories, error) {
	var values []nn.Ref
	all := categories{depth: x.HashBuckets}
	for _, one := range of {
		values = append(values, one.ids)
		switch {
		case one.present.Name == "":
		case all.present.Name == "":
			all.present = one.present
		default:
			before, also := all.present, one.present
			all.present = c.once(before.Name+" and "+also.Name, func(name string) nn.Ref { return c.Mul(name, before, also) })
		}
	}
	all.ids = c.shared(x, "ids", func(name string) nn.Ref { return c.Cross(name, x.HashBuckets, values...) })
	if all.present.Name != "" && all.ids.Type.Width > 1 {
		return all, fmt.Errorf("column %q: a row may lack some of its values, and has several of others: a cross then takes one of each", x.Name())
	}
	return all, nil
}

func (x Crossed) weigh(c *columns, units int) (nn.Ref, error) { return weighIDs(c, x, units) }
