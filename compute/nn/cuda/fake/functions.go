package fake

import (
	"fmt"
	"math"
)

// apply computes function f of one number, in the order of kernel.Func.
func apply(f int, x float32) float32 {
	v := float64(x)
	switch f {
	case 0:
		return x
	case 1:
		return float32(math.Max(v, 0))
	case 2:
		return float32(1 / (1 + math.Exp(-v)))
	case 3:
		return float32(math.Tanh(v))
	case 4:
		return float32(math.Max(v, 0) + math.Log1p(math.Exp(-math.Abs(v))))
	case 5:
		return -x
	case 6:
		return float32(math.Abs(v))
	case 7:
		return float32(math.Exp(v))
	case 8:
		return float32(math.Log(v))
	case 9:
		return float32(math.Log1p(v))
	case 10:
		return float32(math.Expm1(v))
	case 11:
		return float32(math.Sqrt(v))
	case 12:
		return x * x
	case 13:
		return 1 / x
	case 14:
		return sign(x)
	case 15:
		return truth(x > 0)
	}
	panic(fault{errorOf("no function", f)})
}

// slopeOf returns the slope of a function at v, as kernel.Slope defines it.
func slopeOf(f int, v float32) float32 {
	switch f {
	case 0:
		return 1
	case 1:
		return truth(v > 0)
	case 2:
		return v * (1 - v)
	case 3:
		return 1 - v*v
	case 4:
		return apply(2, v)
	case 6:
		return sign(v)
	}
	panic(fault{errorOf("no slope of function", f)})
}

func sign(x float32) float32 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x
}

func truth(b bool) float32 {
	if b {
		return 1
	}
	return 0
}

// combined computes function f of two numbers, in the order of kernel.Binary.
func combined(f int, x, y float32) float32 {
	switch f {
	case 0:
		return x + y
	case 1:
		return x - y
	case 2:
		return x * y
	case 3:
		return x / y
	case 4:
		return max(x, y)
	case 5:
		return min(x, y)
	case 6:
		return float32(math.Pow(float64(x), float64(y)))
	case 7:
		return truth(x > y)
	case 8:
		return truth(x >= y)
	case 9:
		return truth(x < y)
	case 10:
		return truth(x <= y)
	case 11:
		return truth(x == y)
	case 12:
		return truth(x != y)
	}
	panic(fault{errorOf("no function of two", f)})
}

func errorOf(what string, number int) error { return fmt.Errorf("fake: %s %d", what, number) }
