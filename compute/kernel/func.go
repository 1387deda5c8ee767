package kernel

import (
	"fmt"
	"math"
)

// Func is a function of a single element.
type Func int

// The functions. Those of the mathematical library are within 2 units in the last place of the
// exact value with every ISA. At 0, infinities and NaN they are exact, like package math.
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
	Step    // 1 if x > 0, else 0: the slope of Relu
)

// Of returns f(x), which defines the results of Map.
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

// slopeOf returns f'(x), for Relu, Sigmoid and Tanh from v = f(x), for Softplus and Abs from v = x.
// The slopes of Relu and of Abs at 0 are 0, as in TensorFlow.
func (f Func) slopeOf(v float32) float32 {
	switch f {
	case Identity:
		return 1
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
	}
	panic(fmt.Sprintf("kernel: Func(%d) has no slope of its own", int(f)))
}
