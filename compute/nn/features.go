package nn

import (
	"fmt"
)

// Within keeps ids 0..depth-1 and makes all others def: TensorFlow's
// categorical_column_with_identity with a default_value.
func (b *Builder) Within(name string, ids Ref, depth int, def int64) Ref {
	return b.node(name, ids.Type, Node{Op: OpWithin, In: []string{ids.Name}, Attr: Attr{Depth: depth, Default: def}})
}

// Bucket is the number of boundaries, which rise, that are at most x: ids of depth
// len(boundaries)+1, as TensorFlow's bucketized_column has them. NaN is in the last bucket.
func (b *Builder) Bucket(name string, x Ref, boundaries []float32) Ref {
	return b.node(name, Type{Int64, x.Type.Width}, Node{Op: OpBucket, In: []string{x.Name}, Attr: Attr{Boundaries: boundaries}})
}

// ArgMax is the column of the largest number of each row, the first of equal ones: x [b,n] becomes
// ids [b,1].
func (b *Builder) ArgMax(name string, x Ref) Ref {
	return b.node(name, Type{Int64, 1}, Node{Op: OpArgMax, In: []string{x.Name}})
}

// Label returns the name of each id. Ids must be within the names.
func (b *Builder) Label(name string, ids Ref, names []string) Ref {
	return b.node(name, Type{String, ids.Type.Width}, Node{Op: OpLabel, In: []string{ids.Name}, Attr: Attr{Vocabulary: names}})
}

// chosen is the rule of ops that choose: an index for a missing one, a bucket, a cross, a class,
// its name.
func (c *checker) chosen(n *Node) (Type, error) {
	switch n.Op {
	case OpWithin:
		if d := n.Attr.Default; d < 0 || d >= int64(n.Attr.Depth) {
			return Type{}, fmt.Errorf("default %d is outside 0..%d", d, n.Attr.Depth-1)
		}
		return c.indexed(n, Int64)
	case OpBucket:
		t, err := c.same(n, Float32)
		if err == nil && !rising(n.Attr.Boundaries) {
			err = fmt.Errorf("boundaries %v, expected one or more numbers that rise", n.Attr.Boundaries)
		}
		return Type{Int64, t.Width}, err
	case OpArgMax:
		_, err := c.same(n, Float32)
		return Type{Int64, 1}, err
	case OpCross:
		return c.cross(n)
	case OpLabel:
		t, err := c.same(n, Int64)
		if err == nil && len(n.Attr.Vocabulary) == 0 {
			err = fmt.Errorf("no vocabulary")
		}
		return Type{String, t.Width}, err
	}
	return Type{}, fmt.Errorf("unknown op")
}

func rising(boundaries []float32) bool {
	for i, b := range boundaries {
		if b != b || i > 0 && b <= boundaries[i-1] {
			return false
		}
	}
	return len(boundaries) > 0
}

// Vocabulary is the index of each string in tokens, or len(tokens) for one that isn't there: ids of
// depth len(tokens)+1.
func (b *Builder) Vocabulary(name string, x Ref, tokens []string) Ref {
	return b.node(name, Type{Int64, x.Type.Width}, Node{
		Op: OpVocab, In: []string{x.Name}, Attr: Attr{Depth: len(tokens) + 1, Vocabulary: tokens},
	})
}

// Hash is the bucket of each string, 0..buckets-1, the same as TensorFlow's StringToHashBucketFast.
func (b *Builder) Hash(name string, x Ref, buckets int) Ref {
	return b.node(name, Type{Int64, x.Type.Width}, Node{Op: OpHash, In: []string{x.Name}, Attr: Attr{Depth: buckets}})
}

// Clamp keeps ids 0..depth-2 and makes all others depth-1, the bucket for unknown values.
func (b *Builder) Clamp(name string, x Ref, depth int) Ref {
	return b.node(name, x.Type, Node{Op: OpClamp, In: []string{x.Name}, Attr: Attr{Depth: depth}})
}

// OneHot is 1 at the column of each id and 0 elsewhere: ids [b,w] become [b, w*depth].
func (b *Builder) OneHot(name string, ids Ref, depth int) Ref {
	t := Type{Float32, ids.Type.Width * depth}
	return b.node(name, t, Node{Op: OpOneHot, In: []string{ids.Name}, Attr: Attr{Depth: depth}})
}

// Cast converts integers to numbers. float32 represents them exactly up to 2^24.
func (b *Builder) Cast(name string, x Ref) Ref {
	return b.node(name, Type{Float32, x.Type.Width}, Node{Op: OpCast, In: []string{x.Name}})
}

// CrossKey is the initial value of a cross's hash: TensorFlow's default (sparse_ops.py,
// _DEFAULT_HASH_KEY), which tf.sparse.cross_hashed uses, and with it Keras's HashedCrossing and the
// Estimators' crossed_column.
const CrossKey = 0xDECAFCAFFE

// Cross is one id for each combination of the columns' values in a row, 0..buckets-1: two or more
// columns of strings or ids, [b,w1], [b,w2] ..., become [b, w1*w2*...], the values of the last
// column varying fastest. It is the id that tf.sparse.cross_hashed and Keras's HashedCrossing give:
//
//	h = CrossKey; for each column: h = FingerprintCat64(h, v); id = h mod buckets
//
// where v is FarmHash Fingerprint64 of a string, and an integer itself: 7 and "7" are crossed to
// different ids.
func (b *Builder) Cross(name string, buckets int, columns ...Ref) Ref {
	width, in := 1, make([]string, len(columns))
	for i, c := range columns {
		width *= c.Type.Width
		in[i] = c.Name
	}
	return b.node(name, Type{Int64, width}, Node{Op: OpCross, In: in, Attr: Attr{Depth: buckets}})
}

// maxCrossed is how many combinations a row may have; more are probably a mistake.
const maxCrossed = 1 << 16

// cross is the type rule of OpCross.
func (c *checker) cross(n *Node) (Type, error) {
	if n.Attr.Depth < 1 {
		return Type{}, fmt.Errorf("depth %d, expected at least 1", n.Attr.Depth)
	}
	if len(n.In) < 2 {
		return Type{}, fmt.Errorf("%d operands, expected at least 2", len(n.In))
	}
	width := 1
	for i, name := range n.In {
		kind := Int64
		if c.types[name].Kind == String {
			kind = String
		}
		t, err := c.in(n, i, kind)
		if err != nil {
			return Type{}, err
		}
		if width *= t.Width; width > maxCrossed {
			return Type{}, fmt.Errorf("a row has more than %d combinations", maxCrossed)
		}
	}
	return Type{Int64, width}, nil
}
