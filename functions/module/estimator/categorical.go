package estimator

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
)

// Identity is a categorical_column_with_identity: the feature's integers are the ids 0..NumBuckets-1, and any other counts as
// Default, but for -1: that is no value, as in TensorFlow, and so is one that a row lacks. TensorFlow's None, for which any
// other is an error, isn't here: a served model should answer.
type Identity struct {
	Key        string
	NumBuckets int
	Default    int
}

// Name is the key.
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

// Hash is a categorical_column_with_hash_bucket over strings: the id is a hash of the string, the same as TensorFlow's.
// The empty string is no value, as in TensorFlow.
type Hash struct {
	Key         string
	HashBuckets int
}

// Name is the key.
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

// Vocabulary is a categorical_column_with_vocabulary_list over strings, with one bucket for all others: num_oov_buckets=1.
// Without Words they are those that the schema knows of the feature, its string domain. The empty string is no value, as in
// TensorFlow.
type Vocabulary struct {
	Key   string
	Words []string
}

// Name is the key.
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

// Bucketized is a bucketized_column: the id is in which of the ranges (-inf, b0), [b0, b1), ... [bn, inf) a number is. In a deep
// model it is one-hot.
type Bucketized struct {
	Source     Numeric
	Boundaries []float32 // rising
}

// Name is the source's, and _bucketized.
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
