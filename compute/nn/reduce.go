package nn

import (
	"slices"
)

// Sum is the sum of each row, [b,1].
func (b *Builder) Sum(name string, x Ref) Ref { return b.reduce(name, OpSum, x) }

// Mean is the mean of each row, [b,1].
func (b *Builder) Mean(name string, x Ref) Ref { return b.reduce(name, OpMean, x) }

// Max is the largest of each row, [b,1]; NaN if there is one.
func (b *Builder) Max(name string, x Ref) Ref { return b.reduce(name, OpMax, x) }

func (b *Builder) reduce(name string, op Op, x Ref) Ref {
	return b.node(name, Type{Float32, 1}, Node{Op: op, In: []string{x.Name}})
}

// reduced is the rule of ops that make one number of a row.
func (c *checker) reduced(n *Node) (Type, error) {
	_, err := c.same(n, Float32)
	return Type{Float32, 1}, err
}

// reduce is y[r] = f(x[r,:]).
func reduce(f func(row []float32) float32) stepFunc {
	return func(s *step, rows int) error {
		w := s.in[0].Width
		for r := range rows {
			s.out.Floats[r] = f(s.in[0].Floats[r*w : (r+1)*w])
		}
		return nil
	}
}

// reduction is the formula of an op that makes one number of a row; nil for other ops.
func reduction(op Op) func(row []float32) float32 {
	switch op {
	case OpSum:
		return sum
	case OpMean:
		return func(row []float32) float32 { return sum(row) / float32(len(row)) }
	case OpMax:
		return slices.Max
	}
	return nil
}

func sum(row []float32) float32 {
	var total float32
	for _, x := range row {
		total += x
	}
	return total
}
