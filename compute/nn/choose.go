package nn

import (
	"fmt"
	"math"
	"sort"
)

// Within keeps ids 0..depth-1 and makes all others def: TensorFlow's categorical_column_with_identity with a default_value.
func (b *Builder) Within(name string, ids Ref, depth int, def int64) Ref {
	return b.node(name, ids.Type, Node{Op: OpWithin, In: []string{ids.Name}, Attr: Attr{Depth: depth, Default: def}})
}

// Bucket is the number of boundaries, which rise, that are at most x: ids of depth len(boundaries)+1, as TensorFlow's
// bucketized_column has them. NaN is in the last bucket.
func (b *Builder) Bucket(name string, x Ref, boundaries []float32) Ref {
	return b.node(name, Type{Int64, x.Type.Width}, Node{Op: OpBucket, In: []string{x.Name}, Attr: Attr{Boundaries: boundaries}})
}

// ArgMax is the column of the largest number of each row, the first of equal ones: x [b,n] becomes ids [b,1].
func (b *Builder) ArgMax(name string, x Ref) Ref {
	return b.node(name, Type{Int64, 1}, Node{Op: OpArgMax, In: []string{x.Name}})
}

// Label is the name of each id. Ids must be within the names.
func (b *Builder) Label(name string, ids Ref, names []string) Ref {
	return b.node(name, Type{String, ids.Type.Width}, Node{Op: OpLabel, In: []string{ids.Name}, Attr: Attr{Vocabulary: names}})
}

// chosen is the rule of ops that choose: an index for what may be none, a bucket, a cross, a class, its name.
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

// choiceKernelOf are the ops by which features become classes, and logits the class that is answered. Like those over indices,
// they have no gradient.
func choiceKernelOf(op Op) stepFunc {
	switch op {
	case OpWithin:
		return within
	case OpBucket:
		return bucket
	case OpArgMax:
		return argMax
	case OpCross:
		return cross
	case OpLabel:
		return label
	}
	return nil
}

func within(s *step, _ int) error {
	for i, id := range s.in[0].Ints {
		if id < 0 || id >= int64(s.node.Attr.Depth) {
			id = s.node.Attr.Default
		}
		s.out.Ints[i] = id
	}
	return nil
}

// bucket i holds boundaries[i-1] <= x < boundaries[i].
func bucket(s *step, _ int) error {
	boundaries := s.node.Attr.Boundaries
	for i, x := range s.in[0].Floats {
		s.out.Ints[i] = int64(sort.Search(len(boundaries), func(j int) bool { return x < boundaries[j] }))
	}
	return nil
}

func rising(boundaries []float32) bool {
	for i, b := range boundaries {
		if b != b || i > 0 && b <= boundaries[i-1] {
			return false
		}
	}
	return len(boundaries) > 0
}

func argMax(s *step, rows int) error {
	n := s.in[0].Width
	for r := range rows {
		s.out.Ints[r] = int64(argMaxRow(s.in[0].Floats[r*n : (r+1)*n]))
	}
	return nil
}

// argMaxRow passes over NaN, as TensorFlow does on the CPU; 0 where nothing is more than the smallest number.
func argMaxRow(row []float32) int {
	best, largest := 0, float32(-math.MaxFloat32)
	for j, x := range row {
		if x > largest {
			best, largest = j, x
		}
	}
	return best
}

func label(s *step, _ int) error {
	for i, id := range s.in[0].Ints {
		if id < 0 || id >= int64(len(s.node.Attr.Vocabulary)) {
			return s.outside(i, id, len(s.node.Attr.Vocabulary))
		}
		s.out.Strings[i] = []byte(s.node.Attr.Vocabulary[id])
	}
	return nil
}
