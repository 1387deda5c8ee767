package example

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Spec lists the features to read, sorted by name; a Sequence comes after a plain feature of its
// name, which a tf.SequenceExample may have too. Features of a record that are not in it are
// ignored, as in TensorFlow.
type Spec []Feature

// Feature defines how one feature of a record becomes a column. It is TensorFlow's FixedLenFeature
// if Shape is set, and its VarLenFeature or RaggedFeature if not; for a Sequence, its
// FixedLenSequenceFeature if Shape is set.
type Feature struct {
	Name string
	Kind Kind

	// Shape is the shape of one row, or of one step of a Sequence: nil is any number of values, []
	// one scalar, [3] three values.
	Shape []int

	// Sequence means that the feature is one of a tf.SequenceExample's feature_lists. Every row is
	// a list of steps, every step a list of values.
	Sequence bool

	// AllowMissing means that records may lack the list of a Sequence with a Shape, which then has
	// no steps. Without a Shape they always may.
	AllowMissing bool

	// Default fills the whole shape of a row that lacks the feature. Without it, and with a Shape,
	// such a row is an error.
	Default *Default

	Vocabulary  []string // the schema's string domain: the known values, in its order
	IntRange    *Range   // the schema's int domain
	Categorical bool     // the integers are identities, not quantities
}

// Kind is the type of a feature's values. The numbers are the field numbers of tf.Feature's kind.
type Kind int

// The kinds of tf.Feature.
const (
	Bytes Kind = iota + 1
	Float
	Int64
)

// String returns TensorFlow's name of the type.
func (k Kind) String() string {
	switch k {
	case Bytes:
		return "string"
	case Float:
		return "float"
	case Int64:
		return "int64"
	}
	return fmt.Sprintf("kind %d", int(k))
}

// Default is the value of a feature that a row lacks: the field of the feature's Kind counts.
type Default struct {
	Bytes []byte
	Float float32
	Int64 int64
}

// Range holds the bounds of an integer feature, both inclusive. A bound that the schema leaves open
// is math.MinInt64 or math.MaxInt64.
type Range struct{ Min, Max int64 }

// VarLen reports whether rows may have any number of values.
func (f Feature) VarLen() bool { return f.Shape == nil }

// Size returns the number of values of Shape: 1 for a scalar, 0 for a VarLen feature.
func (f Feature) Size() int {
	if f.VarLen() {
		return 0
	}
	size := 1
	for _, dim := range f.Shape {
		size *= dim
	}
	return size
}

// compare orders features as in a Spec.
func (f Feature) compare(g Feature) int {
	if c := strings.Compare(f.Name, g.Name); c != 0 || f.Sequence == g.Sequence {
		return c
	}
	if g.Sequence {
		return -1
	}
	return 1
}

// Find returns the feature of that name, the plain one if there are two.
func (s Spec) Find(name string) (Feature, bool) {
	i, ok := slices.BinarySearchFunc(s, name, func(f Feature, name string) int { return strings.Compare(f.Name, name) })
	if !ok {
		return Feature{}, false
	}
	return s[i], true
}

// Names returns the names of all features, sorted.
func (s Spec) Names() []string {
	names := make([]string, len(s))
	for i, f := range s {
		names[i] = f.Name
	}
	return names
}

// Without returns the spec without the named features; names that it does not have are ignored.
func (s Spec) Without(names ...string) Spec {
	return slices.DeleteFunc(slices.Clone(s), func(f Feature) bool { return slices.Contains(names, f.Name) })
}

// Validate returns what is wrong with s: an order other than by name, a name twice, an unknown
// kind, an impossible shape.
func (s Spec) Validate() error {
	for i, f := range s {
		if i > 0 && s[i-1].compare(f) >= 0 {
			return fmt.Errorf("spec: feature %q stands after %q: names must be sorted and unique", f.Name, s[i-1].Name)
		}
		if err := f.validate(); err != nil {
			return fmt.Errorf("spec: feature %q: %w", f.Name, err)
		}
	}
	return nil
}

// maxSize limits the values of one row of one feature, so that offsets fit in an int32.
const maxSize = math.MaxInt32

// maxDefaults limits what an empty row may grow to.
const maxDefaults = 1 << 20

func (f Feature) validate() error {
	if f.Name == "" {
		return fmt.Errorf("a name is missing")
	}
	if f.Kind < Bytes || f.Kind > Int64 {
		return fmt.Errorf("%v is none of string, float, int64", f.Kind)
	}
	if f.Default != nil && (f.VarLen() || f.Sequence) {
		return fmt.Errorf("a default needs a shape and no sequence")
	}
	if f.AllowMissing && (f.VarLen() || !f.Sequence) {
		return fmt.Errorf("allow_missing needs a sequence with a shape")
	}
	size := 1
	for _, dim := range f.Shape {
		if dim < 1 || dim > maxSize/size {
			return fmt.Errorf("shape %v: dimensions must be 1 or more, their product at most %d", f.Shape, maxSize)
		}
		size *= dim
	}
	if f.Default != nil && size > maxDefaults {
		return fmt.Errorf("shape %v: a default fills %d values at most", f.Shape, maxDefaults)
	}
	return nil
}
