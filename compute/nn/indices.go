package nn

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/fingerprint"
)

// indexKernelOf are the ops that turn what was in the data into indices, and indices into numbers. No gradient goes through
// them, so they never reach Gorgonia.
func indexKernelOf(op Op) stepFunc {
	switch op {
	case OpCast:
		return cast
	case OpOneHot:
		return oneHot
	case OpVocab:
		return vocab
	case OpHash:
		return hash
	case OpClamp:
		return clamp
	}
	return nil
}

func cast(s *step, _ int) error {
	for i, x := range s.in[0].Ints {
		s.out.Floats[i] = float32(x)
	}
	return nil
}

func oneHot(s *step, _ int) error {
	depth := s.node.Attr.Depth
	clear(s.out.Floats)
	for i, id := range s.in[0].Ints {
		if id >= 0 && id < int64(depth) {
			s.out.Floats[i*depth+int(id)] = 1
		}
	}
	return nil
}

// vocabIndex is where each token stands; the first of equal ones counts.
func vocabIndex(tokens []string) map[string]int64 {
	m := make(map[string]int64, len(tokens))
	for i, token := range tokens {
		if _, twice := m[token]; !twice {
			m[token] = int64(i)
		}
	}
	return m
}

func vocab(s *step, _ int) error {
	for i, token := range s.in[0].Strings {
		id, ok := s.vocab[string(token)]
		if !ok {
			id = int64(s.node.Attr.Depth - 1)
		}
		s.out.Ints[i] = id
	}
	return nil
}

// hash is what TensorFlow's StringToHashBucketFast does: FarmHash Fingerprint64 modulo the number of buckets.
func hash(s *step, _ int) error {
	for i, token := range s.in[0].Strings {
		s.out.Ints[i] = int64(fingerprint.Of(token) % uint64(s.node.Attr.Depth))
	}
	return nil
}

func clamp(s *step, _ int) error {
	last := int64(s.node.Attr.Depth - 1)
	for i, id := range s.in[0].Ints {
		if id < 0 || id >= last {
			id = last
		}
		s.out.Ints[i] = id
	}
	return nil
}

// Vocabulary is the index of each string in tokens, or len(tokens) for one that isn't there: ids of depth len(tokens)+1.
func (b *Builder) Vocabulary(name string, x Ref, tokens []string) Ref {
	return b.node(name, Type{Int64, x.Type.Width}, Node{
		Op: OpVocab, In: []string{x.Name}, Attr: Attr{Depth: len(tokens) + 1, Vocabulary: tokens},
	})
}

// Hash is the bucket of each string, 0..buckets-1, the same as TensorFlow's StringToHashBucketFast.
func (b *Builder) Hash(name string, x Ref, buckets int) Ref {
	return b.node(name, Type{Int64, x.Type.Width}, Node{Op: OpHash, In: []string{x.Name}, Attr: Attr{Depth: buckets}})
}

// Clamp keeps ids 0..depth-2 and makes all others depth-1, the bucket for the unknown.
func (b *Builder) Clamp(name string, x Ref, depth int) Ref {
	return b.node(name, x.Type, Node{Op: OpClamp, In: []string{x.Name}, Attr: Attr{Depth: depth}})
}

// OneHot is 1 at the place of each id and 0 elsewhere: ids [b,w] become [b, w*depth].
func (b *Builder) OneHot(name string, ids Ref, depth int) Ref {
	t := Type{Float32, ids.Type.Width * depth}
	return b.node(name, t, Node{Op: OpOneHot, In: []string{ids.Name}, Attr: Attr{Depth: depth}})
}

// Cast takes integers as numbers. float32 holds them exactly up to 2^24.
func (b *Builder) Cast(name string, x Ref) Ref {
	return b.node(name, Type{Float32, x.Type.Width}, Node{Op: OpCast, In: []string{x.Name}})
}

// CrossKey is what the hash of a cross begins with: TensorFlow's default (sparse_ops.py, _DEFAULT_HASH_KEY), which
// tf.sparse.cross_hashed has, and with it Keras's HashedCrossing and the Estimators' crossed_column.
const CrossKey = 0xDECAFCAFFE

// Cross is one id for each combination of the columns' values in a row, 0..buckets-1: two or more columns of strings or ids,
// [b,w1], [b,w2] ..., become [b, w1*w2*...], the values of the last column going fastest. It is the id that
// tf.sparse.cross_hashed gives, and so Keras's HashedCrossing:
//
//	h = CrossKey; for each column: h = FingerprintCat64(h, v); id = h mod buckets
//
// where v is FarmHash Fingerprint64 of a string, and an integer itself: 7 and "7" are crossed to different ids.
func (b *Builder) Cross(name string, buckets int, columns ...Ref) Ref {
	width, in := 1, make([]string, len(columns))
	for i, c := range columns {
		width *= c.Type.Width
		in[i] = c.Name
	}
	return b.node(name, Type{Int64, width}, Node{Op: OpCross, In: in, Attr: Attr{Depth: buckets}})
}

// maxCrossed is how many combinations a row may have: what is more was not meant.
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

// cross widens each row's ids column by column: what is hashed of the columns before is at the front of the row already.
func cross(s *step, rows int) error {
	width, out := s.out.Width, s.out.Ints
	for r := range rows {
		row := out[r*width : (r+1)*width]
		row[0] = CrossKey
		have := 1
		for _, column := range s.in {
			have = crossColumn(row, have, column, r)
		}
		for i, h := range row {
			row[i] = int64(uint64(h) % uint64(s.node.Attr.Depth))
		}
	}
	return nil
}

// crossColumn makes w*have hashes of the have at the front of row, from the last one on, so that none is overwritten before
// its turn.
func crossColumn(row []int64, have int, column *Value, r int) int {
	w := column.Width
	for i := have - 1; i >= 0; i-- {
		before := uint64(row[i])
		for j := w - 1; j >= 0; j-- {
			row[i*w+j] = int64(fingerprint.Join(before, crossedAs(column, r*w+j)))
		}
	}
	return have * w
}

// crossedAs is the i-th value as a cross hashes it.
func crossedAs(v *Value, i int) uint64 {
	if v.Kind == String {
		return fingerprint.Of(v.Strings[i])
	}
	return uint64(v.Ints[i])
}
