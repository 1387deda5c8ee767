package plan

import "github.com/stoker-ml/stoker/compute/kernel"

// activation finds an activation, or its slope, in a product of two values; else nil. x and y may
// stand in either order.
func (c *compiler) activation(f kernel.Binary, x, y *value) *value {
	if f != kernel.Mul {
		return nil
	}
	if v := c.activationOf(x, y); v != nil {
		return v
	}
	return c.activationOf(y, x)
}

func (c *compiler) activationOf(dy, s *value) *value {
	switch {
	case mapped(s, kernel.Step) && s.in[0] == dy: // x (x > 0)
		return c.apply(kernel.Relu, dy)
	case mapped(s, kernel.Step): // dy (x > 0)
		return c.slope(kernel.Relu, dy, s.in[0])
	case mapped(s, kernel.Sign): // dy sign(x)
		return c.slope(kernel.Abs, dy, s.in[0])
	case mapped(s, kernel.Sigmoid) && c.has(kernel.Softplus, s.in[0]): // dy sigmoid(x)
		return c.slope(kernel.Softplus, dy, s.in[0])
	}
	if y := tanhSlope(s); y != nil {
		return c.slope(kernel.Tanh, dy, y)
	}
	if y := sigmoidSlope(s); y != nil {
		return c.slope(kernel.Sigmoid, dy, y)
	}
	return nil
}

func mapped(v *value, f kernel.Func) bool { return v.is(Map) && v.attr.Func == f }

// has says whether f of x is computed anyhow.
func (c *compiler) has(f kernel.Func, x *value) bool {
	v := &value{op: Map, attr: Attr{Func: f}, rows: x.rows, cols: x.cols, in: []*value{x}}
	return c.same[c.key(v)] != nil
}

// tanhSlope is y where v is 1 - y^2 and y is a tanh.
func tanhSlope(v *value) *value {
	if !oneMinus(v) || !mapped(v.in[0], kernel.Square) || !mapped(v.in[0].in[0], kernel.Tanh) {
		return nil
	}
	return v.in[0].in[0]
}

// sigmoidSlope is y where v is y (1 - y), or y sigmoid(-x), and y is sigmoid(x).
func sigmoidSlope(v *value) *value {
	if !v.is(Combine) || v.attr.Binary != kernel.Mul || v.attr.Shape != kernel.Full {
		return nil
	}
	for i, y := range v.in {
		other := v.in[1-i]
		if !mapped(y, kernel.Sigmoid) {
			continue
		}
		if oneMinus(other) && other.in[0] == y {
			return y
		}
		if mapped(other, kernel.Sigmoid) && mapped(other.in[0], kernel.Neg) && other.in[0].in[0] == y.in[0] {
			return y
		}
	}
	return nil
}

// oneMinus says whether v is 1 - something.
func oneMinus(v *value) bool {
	return v.is(Combine) && v.attr.Binary == kernel.Sub && v.attr.Swapped && v.attr.Shape == kernel.Scalar &&
		v.in[1].source == splat && v.in[1].number == 1
}
