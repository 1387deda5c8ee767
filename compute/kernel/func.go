package kernel

import "math"

// Func is a function of each element alone.
type Func int

// The functions. Those of the mathematical library are within 2 units in the last place of the exact value at every Level, and
// exact at 0, infinities and NaN as package math has them.
const (
	Identity Func = iota
	Relu          // max(x, 0); NaN stays NaN
	Sigmoid       // 1/(1+exp(-x)), without overflow
	Tanh
	Softplus // log(1+exp(x)), without overflow
	Neg
	Abs
	Exp
	Log
	Log1p
	Expm1
	Sqrt
	Square
	Inverse // 1/x
	Sign    // -1, 0 or 1; NaN stays NaN
	Step    // 1 where x > 0, else 0: the slope of Relu
)

// Of is f(x), the meaning of all that Map does.
func (f Func) Of(x float32) float32 {
	switch f {
	case Relu:
		if x < 0 {
			return 0
		}
		return x
	case Sigmoid:
		if x >= 0 {
			return float32(1 / (1 + math.Exp(-float64(x))))
		}
		e := math.Exp(float64(x))
		return float32(e / (1 + e))
	case Tanh:
		return float32(math.Tanh(float64(x)))
	case Softplus:
		return float32(math.Max(float64(x), 0) + math.Log1p(math.Exp(-math.Abs(float64(x)))))
	case Neg:
		return -x
	case Abs:
		return float32(math.Abs(float64(x)))
	case Exp:
		return float32(math.Exp(float64(x)))
	case Log:
		return float32(math.Log(float64(x)))
	case Log1p:
		return float32(math.Log1p(float64(x)))
	case Expm1:
		return float32(math.Expm1(float64(x)))
	case Sqrt:
		return float32(math.Sqrt(float64(x)))
	case Square:
		return x * x
	case Inverse:
		return 1 / x
	case Sign:
		switch {
		case x > 0:
			return 1
		case x < 0:
			return -1
		}
		return x
	case Step:
		if x > 0 {
			return 1
		}
		return 0
	}
	return x
}

// Map is y = f(x); y may be x.
func (t *Team) Map(f Func, y, x []float32) {
	for i, xi := range x {
		y[i] = f.Of(xi)
	}
}

// Slope is dx = dy f'(x), for Relu, Sigmoid and Tanh by y = f(x) alone, for Softplus and Abs by x: v is that y or that x. dx may be
// dy or v.
func (t *Team) Slope(f Func, dx, dy, v []float32) {
	for i, g := range dy {
		dx[i] = g * f.slope(v[i])
	}
}

// slope of Relu at 0 is 0, and of Abs, as in TensorFlow.
func (f Func) slope(v float32) float32 {
	switch f {
	case Relu:
		return Step.Of(v)
	case Sigmoid:
		return v * (1 - v)
	case Tanh:
		return 1 - v*v
	case Softplus:
		return Sigmoid.Of(v)
	case Abs:
		return Sign.Of(v)
	case Identity:
		return 1
	}
	panic("kernel: this function has no slope of its own")
}
