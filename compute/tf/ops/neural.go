package ops

import (
	"fmt"
	"math"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// buildBiasAdd adds a vector to the last dimension.
func buildBiasAdd(n *Node) (Kernel, error) {
	if format := n.Text("data_format", "NHWC"); format != "NHWC" {
		return nil, fmt.Errorf("data_format %s isn't executed", format)
	}
	return byType{tensor.Float32: biasAdd[float32], tensor.Float64: biasAdd[float64], tensor.Int32: biasAdd[int32], tensor.Int64: biasAdd[int64]}.pick(n, 2, 0)
}

func biasAdd[T number](c *Call) error {
	a, bias := arg[T](c, 0), arg[T](c, 1)
	last := len(a.Dims) - 1
	if len(bias.Dims) != 1 || last < 1 || a.Dims[last] != len(bias.Data) {
		return fmt.Errorf("a bias of shape %v for shape %v", bias.Dims, a.Dims)
	}
	out, width := newOutput[T](c, 0, a.Dims...).Data, len(bias.Data)
	for row := 0; row+width <= len(out) && width > 0; row += width {
		c.tick(width)
		for i, b := range bias.Data {
			out[row+i] = a.Data[row+i] + b
		}
	}
	return nil
}

// buildSoftmax returns e^x / sum of e^x over the last dimension, after subtracting the largest x.
func buildSoftmax(n *Node) (Kernel, error) {
	return byType{tensor.Float32: rowwise(softmax[float32]), tensor.Float64: rowwise(softmax[float64])}.pick(n, 1, 0)
}

// buildLogSoftmax returns x - log of the sum of e^x over the last dimension, after subtracting the
// largest x.
func buildLogSoftmax(n *Node) (Kernel, error) {
	return byType{tensor.Float32: rowwise(logSoftmax[float32]), tensor.Float64: rowwise(logSoftmax[float64])}.pick(n, 1, 0)
}

// rowwise returns the kernel of a function of the rows along the last dimension.
func rowwise[T floating](f func(to, from []T)) Kernel {
	return func(c *Call) error {
		in := arg[T](c, 0)
		last := len(in.Dims) - 1
		if last < 0 {
			return fmt.Errorf("a scalar has no rows")
		}
		out, width := newOutput[T](c, 0, in.Dims...), in.Dims[last]
		for row := range tensor.Count(in.Dims[:last]) {
			c.tick(width)
			f(out.Data[row*width:(row+1)*width], in.Data[row*width:(row+1)*width])
		}
		return nil
	}
}

func softmax[T floating](to, from []T) {
	largest, sum := folding(T(math.Inf(-1)), greatest[T])(from), T(0)
	for i, v := range from {
		to[i] = T(math.Exp(float64(v - largest)))
		sum += to[i]
	}
	for i := range to {
		to[i] /= sum
	}
}

func logSoftmax[T floating](to, from []T) {
	largest, sum := folding(T(math.Inf(-1)), greatest[T])(from), 0.0
	for _, v := range from {
		sum += math.Exp(float64(v - largest))
	}
	for i, v := range from {
		to[i] = T(float64(v-largest) - math.Log(sum))
	}
}

// buildLeakyRelu returns x, or alpha x if x is negative.
func buildLeakyRelu(n *Node) (Kernel, error) {
	alpha := float32(0.2) // the op's default
	if a := n.attr("alpha"); a != nil {
		alpha = a.GetF()
	}
	return byType{tensor.Float32: each(mapping(leaky(alpha))), tensor.Float64: each(mapping(leaky(float64(alpha))))}.pick(n, 1, 0)
}

func leaky[T floating](alpha T) func(T) T {
	return func(x T) T {
		if x < 0 {
			return alpha * x
		}
		return x
	}
}
