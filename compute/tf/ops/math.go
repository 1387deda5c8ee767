package ops

import (
	"errors"
	"fmt"
	"math"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// float returns the kernels of a function of one number, computed in float64 and rounded once:
// TensorFlow's own are within a few units in the last place of that.
func float(f func(float64) float64) byType {
	return byType{
		tensor.Float32: each(func(out, in []float32) {
			for i, x := range in {
				out[i] = float32(f(float64(x)))
			}
		}),
		tensor.Float64: each(func(out, in []float64) {
			for i, x := range in {
				out[i] = f(x)
			}
		}),
	}
}

// signed adds the kernels for integers to those of float.
func signed(f func(float64) float64, i32 func(int32) int32, i64 func(int64) int64) byType {
	k := float(f)
	k[tensor.Int32], k[tensor.Int64] = each(mapping(i32)), each(mapping(i64))
	return k
}

func mapping[T, R tensor.Element](f func(T) R) func(out []R, in []T) {
	return func(out []R, in []T) {
		for i, x := range in {
			out[i] = f(x)
		}
	}
}

func negate[T number](x T) T { return -x }
func square[T number](x T) T { return x * x }

func absolute[T int32 | int64](x T) T {
	if x < 0 {
		return -x
	}
	return x
}

func signOf[T number](x T) T {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return T(0) - 1
	}
	return x // 0, or NaN
}

// squareFloat rounds in the type itself: the square of a float32 in float64 is the same after
// rounding.
func squareFloat(x float64) float64 { return x * x }

func negateFloat(x float64) float64 { return -x }
func signFloat(x float64) float64   { return signOf(x) }

func reciprocal(x float64) float64 { return 1 / x }
func rsqrt(x float64) float64      { return 1 / math.Sqrt(x) }
func sigmoid(x float64) float64    { return 1 / (1 + math.Exp(-x)) }
func softsign(x float64) float64   { return x / (1 + math.Abs(x)) }

func relu(x float64) float64  { return max(x, 0) }
func relu6(x float64) float64 { return min(max(x, 0), 6) }

// softplus returns log(1 + e^x).
func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// rounded returns the kernels of a function whose steps are rounded to the type.
func rounded(f32 func(float32) float32, f64 func(float64) float64) byType {
	return byType{tensor.Float32: each(mapping(f32)), tensor.Float64: each(mapping(f64))}
}

func exp[T floating](x T) T { return T(math.Exp(float64(x))) }

func elu[T floating](x T) T {
	if x < 0 {
		return exp(x) - 1
	}
	return x
}

func selu[T floating](x T) T {
	const scale, alpha = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
	if x < 0 {
		return T(scale*alpha) * (exp(x) - 1)
	}
	return T(scale) * x
}

func isNaN[T floating](x T) bool    { return x != x }
func isInf[T floating](x T) bool    { return math.IsInf(float64(x), 0) }
func isFinite[T floating](x T) bool { return x-x == 0 }

// wide makes a loop on float32 of a function on float64.
func wide(f func(a, b float64) float64) byType {
	return floats(of(func(a, b float32) float32 { return float32(f(float64(a), float64(b))) }), of(f))
}

func floorDivFloat[T floating](a, b T) T { return T(math.Floor(float64(a / b))) }

// floorModFloat has the sign of the divisor, as in Python.
func floorModFloat[T floating](a, b T) T {
	r := T(math.Mod(float64(a), float64(b)))
	if r != 0 && (r < 0) != (b < 0) {
		r += b
	}
	return r
}

func truncateModFloat[T floating](a, b T) T { return T(math.Mod(float64(a), float64(b))) }

// power multiplies as often as the exponent, which must not be negative.
func power[T int32 | int64](c *Call) error {
	for _, v := range arg[T](c, 1).Data {
		if v < 0 {
			return errors.New("an integer to a negative power is no integer")
		}
	}
	return pairwise(of(powInt[T]))(c)
}

func powInt[T int32 | int64](a, b T) T {
	p := T(1)
	for ; b > 0; b >>= 1 {
		if b&1 != 0 {
			p *= a
		}
		a *= a
	}
	return p
}

// buildCheckNumerics returns its floating point numbers, of which none may be NaN or infinite.
func buildCheckNumerics(n *Node) (Kernel, error) {
	message := n.Text("message", "")
	k, err := byType{tensor.Float32: finite[float32](message), tensor.Float64: finite[float64](message)}.pick(n, 1, 0)
	return k, err
}

func finite[T floating](message string) Kernel {
	return func(c *Call) error {
		for i, v := range arg[T](c, 0).Data {
			if !isFinite(v) {
				return fmt.Errorf("%s: value %d is %v", message, i, v)
			}
		}
		c.Out[0] = c.In[0]
		return nil
	}
}
