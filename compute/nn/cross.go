package nn

import (
	"fmt"

	farm "github.com/dgryski/go-farm"
)

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
			row[i*w+j] = int64(joinFingerprints(before, crossedAs(column, r*w+j)))
		}
	}
	return have * w
}

// crossedAs is the i-th value as a cross hashes it.
func crossedAs(v *Value, i int) uint64 {
	if v.Kind == String {
		return farm.Fingerprint64(v.Strings[i])
	}
	return uint64(v.Ints[i])
}

// joinFingerprints is FingerprintCat64 of tensorflow/tsl/platform/fingerprint.h: a fingerprint of two, in their order.
func joinFingerprints(a, b uint64) uint64 {
	const m = 0xc6a4a7935bd1e995
	mix := func(v uint64) uint64 { return v ^ v>>47 }
	h := (a ^ m ^ mix(b*m)*m) * m
	return mix(mix(h) * m)
}
