package nn

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/kernel"
)

// Add is x + y, element by element; y has the width of x, or width 1.
func (b *Builder) Add(name string, x, y Ref) Ref { return b.combine(name, OpAdd, x, y) }

// Sub is x - y, as Add.
func (b *Builder) Sub(name string, x, y Ref) Ref { return b.combine(name, OpSub, x, y) }

// Mul is x * y, as Add.
func (b *Builder) Mul(name string, x, y Ref) Ref { return b.combine(name, OpMul, x, y) }

// Div is x / y, as Add.
func (b *Builder) Div(name string, x, y Ref) Ref { return b.combine(name, OpDiv, x, y) }

// Maximum is the larger of x and y, as Add.
func (b *Builder) Maximum(name string, x, y Ref) Ref { return b.combine(name, OpMaximum, x, y) }

// Minimum is the smaller of x and y, as Add.
func (b *Builder) Minimum(name string, x, y Ref) Ref { return b.combine(name, OpMinimum, x, y) }

func (b *Builder) combine(name string, op Op, x, y Ref) Ref {
	return b.node(name, x.Type, Node{Op: op, In: []string{x.Name, y.Name}})
}

// combined is the rule of ops on two operands, element by element. The second may be a param.
func (c *checker) combined(n *Node) (Type, error) {
	x, err := c.in(n, 0, Float32)
	if err != nil {
		return Type{}, err
	}
	if len(n.In) != 2 {
		return Type{}, fmt.Errorf("%d operands, expected 2", len(n.In))
	}
	if p := c.params[n.In[1]]; p != nil {
		if len(p.Shape) != 1 || p.Shape[0] != x.Width && p.Shape[0] != 1 {
			return Type{}, fmt.Errorf("%s with param of shape %v", x, p.Shape)
		}
		return x, nil
	}
	y, err := c.in(n, 1, Float32)
	if err == nil && y.Width != x.Width && y.Width != 1 {
		err = fmt.Errorf("operands are %s and %s", x, y)
	}
	return x, err
}

// combination is what computes an op on two operands; nil for other ops. It is y[r,j] = f(x[r,j], z[r,j]), where z is a value or a
// param, repeated where it is narrower.
func combination(op Op) stepFunc {
	f, ok := op.Binary()
	if !ok {
		return nil
	}
	return func(s *step, rows int) error {
		z, shape := s.second()
		alone.Combine(f, s.out.Floats, s.in[0].Floats, z, shape, rows, s.out.Width, false)
		return nil
	}
}

// second is the second operand, and how it broadcasts over the first: a param is the same for all rows.
func (s *step) second() ([]float32, kernel.Shape) {
	switch {
	case s.param != nil && len(s.param.Values) == 1:
		return s.param.Values, kernel.Scalar
	case s.param != nil:
		return s.param.Values, kernel.Row
	case s.in[1].Width != s.out.Width:
		return s.in[1].Floats, kernel.Column
	}
	return s.in[1].Floats, kernel.Full
}
