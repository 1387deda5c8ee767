package estimator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
)

// Identity is a categorical_column_with_identity: the feature's integers are the ids
// 0..NumBuckets-1, and any other counts as Default, except -1: that is a missing value, as in
// TensorFlow, like one that a row lacks. TensorFlow's default of None, with which other integers
// are errors, is not supported: a served model should answer.
type Identity struct {
	Key        string
	NumBuckets int
	Default    int
}

// Name returns the key.
func (i Identity) Name() string { return i.Key }

func (i Identity) ids(c *columns) (categories, error) {
	if i.NumBuckets < 1 || i.Default < 0 || i.Default >= i.NumBuckets {
		return categories{}, fmt.Errorf("column %q: default %d of %d buckets, expected one of them", i.Key, i.Default, i.NumBuckets)
	}
	x, err := c.feature(i.Key, example.Int64)
	if err != nil {
		return categories{}, err
	}
	if f, _ := c.spec.Find(i.Key); f.VarLen() {
		c.defaults[i.Key] = example.Default{Int64: -1}
	}
	return categories{
		depth: i.NumBuckets, present: c.present(i.Key, x),
		ids: c.shared(i, "ids", func(name string) nn.Ref { return c.Within(name, x, i.NumBuckets, int64(i.Default)) }),
	}, nil
}

func (i Identity) weigh(c *columns, units int) (nn.Ref, error) { return weighIDs(c, i, units) }

// Hash is a categorical_column_with_hash_bucket over strings: the id is a hash of the string, the
// same as TensorFlow's. The empty string is a missing value, as in TensorFlow.
type Hash struct {
	Key         string
	HashBuckets int
}

// Name returns the key.
func (h Hash) Name() string { return h.Key }

func (h Hash) ids(c *columns) (categories, error) {
	x, err := c.feature(h.Key, example.Bytes)
	if err != nil {
		return categories{}, err
	}
	return categories{
		depth: h.HashBuckets, present: c.present(h.Key, x),
		ids: c.shared(h, "ids", func(name string) nn.Ref { return c.Hash(name, x, h.HashBuckets) }),
	}, nil
}

func (h Hash) weigh(c *columns, units int) (nn.Ref, error) { return weighIDs(c, h, units) }

// Vocabulary is a categorical_column_with_vocabulary_list over strings, with one bucket for all
// other words: num_oov_buckets=1. Without Words, the vocabulary is the feature's string domain in
// the schema. The empty string is a missing value, as in TensorFlow.
type Vocabulary struct {
	Key   string
	Words []string
}

// Name returns the key.
func (v Vocabulary) Name() string { return v.Key }

func (v Vocabulary) ids(c *columns) (categories, error) {
	x, err := c.feature(v.Key, example.Bytes)
	if err != nil {
		return categories{}, err
	}
	words := v.Words
	if words == nil {
		f, _ := c.spec.Find(v.Key)
		words = f.Vocabulary
	}
	if len(words) == 0 {
		return categories{}, fmt.Errorf("column %q has no words, and the schema has none for its feature", v.Key)
	}
	return categories{
		depth: len(words) + 1, present: c.present(v.Key, x),
		ids: c.shared(v, "ids", func(name string) nn.Ref { return c.Vocabulary(name, x, words) }),
	}, nil
}

func (v Vocabulary) weigh(c *columns, units int) (nn.Ref, error) { return weighIDs(c, v, units) }

// Bucketized is a bucketized_column: the id is the index of the range (-inf, b0), [b0, b1), ...
// [bn, inf) that holds the number. In a deep model it is one-hot.
type Bucketized struct {
	Source     Numeric
	Boundaries []float32 // ascending
}

// Name returns the source's name, and _bucketized.
func (b Bucketized) Name() string { return b.Source.Name() + "_bucketized" }

func (b Bucketized) ids(c *columns) (categories, error) {
	x, err := b.Source.numbers(c)
	if err != nil {
		return categories{}, err
	}
	return categories{
		depth: len(b.Boundaries) + 1,
		ids:   c.shared(b, "ids", func(name string) nn.Ref { return c.Bucket(name, x, b.Boundaries) }),
	}, nil
}

func (b Bucketized) weigh(c *columns, units int) (nn.Ref, error) { return weighIDs(c, b, units) }

func (b Bucketized) numbers(c *columns) (nn.Ref, error) { return oneHot(c, b) }

// categories are a feature's values as ids.
type categories struct {
	ids   nn.Ref // [b, w], of 0..depth-1
	depth int

	// present [b, w] is 1 for a value and 0 for a missing one, whatever ids holds there. Without a
	// name: no value is missing.
	present nn.Ref
}

// present returns which values of a feature are present: TensorFlow's columns treat -1 and the
// empty string as missing.
func (c *columns) present(key string, x nn.Ref) nn.Ref {
	scope := "features/" + key + "/present"
	return c.once(scope, func(name string) nn.Ref {
		if x.Type.Kind == nn.String { // 0 for that word, 1 for others
			return c.Cast(name, c.Vocabulary(name+"/not_empty", x, []string{""}))
		}
		one := c.one()
		return c.Minimum(name, c.Apply(name+"/square", c.Add(name+"/next", c.Cast(name+"/float", x), one), nn.OpSquare), one)
	})
}

// sum adds the parts of x that belong to the values of a feature, each of that width, except for
// missing values.
func (c *columns) sum(x nn.Ref, width int, of categories, name string) (sum nn.Ref) {
	places := of.ids.Type.Width
	for i := range places {
		part, present := x, of.present
		if places > 1 {
			part = c.Slice(fmt.Sprintf("%s/%d", name, i), x, i*width, (i+1)*width)
		}
		if places > 1 && present.Name != "" {
			present = c.Slice(fmt.Sprintf("%s/%d/present", name, i), present, i, i+1)
		}
		if present.Name != "" {
			part = c.Mul(fmt.Sprintf("%s/%d/known", name, i), part, present)
		}
		if i == 0 {
			sum = part
			continue
		}
		sum = c.Add(fmt.Sprintf("%s/%d/sum", name, i), sum, part)
	}
	return sum
}

// mean is sum divided by the number of values; 0 if all are missing.
func (c *columns) mean(x nn.Ref, width int, of categories, name string) nn.Ref {
	sum, places := c.sum(x, width, of, name), of.ids.Type.Width
	switch {
	case places == 1:
		return sum
	case of.present.Name == "":
		return c.Div(name+"/mean", sum, c.Constant(name+"/places", float32(places)))
	}
	count := c.Maximum(name+"/count", c.Sum(name+"/present", of.present), c.one())
	return c.Div(name+"/mean", sum, count)
}

func (c *columns) one() nn.Ref {
	return c.once("features/one", func(name string) nn.Ref { return c.Constant(name, 1) })
}

// Crossed is a crossed_column: the id is a hash of the values that a row has in two or more keys,
// the same as TensorFlow's. A linear model uses it directly, a deep one through Indicator and
// Embedding.
type Crossed struct {
	Keys        []CrossKey // Feature, Identity, Vocabulary or Bucketized
	HashBuckets int
}

// CrossKey is an input of Crossed: a feature itself, or the ids of a column. In place of a Hash use
// its Feature: its ids carry less information.
type CrossKey interface {
	Name() string

	// crossed returns the values, and whether TensorFlow has them as a sparse tensor: it crosses
	// those first.
	crossed(c *columns) (values categories, sparse bool, err error)
}

// Feature is the key of a feature of strings or integers in a Crossed. If the feature has no shape,
// the empty string and -1 stand for a missing value.
type Feature string

// Name returns the key.
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
	// TensorFlow numbers the buckets of each value separately.
	if err == nil && of.present.Name == "" && of.ids.Type.Width > 1 {
		err = fmt.Errorf("column %q has %d numbers in a row, and a cross takes one", column.Name(), of.ids.Type.Width)
	}
	return of, true, err
}

// Name returns the keys' names, sorted, joined by _X_.
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
