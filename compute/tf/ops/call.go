package ops

import (
	"fmt"
	"math"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// Kernel computes the outputs of a node from its inputs, whose types were checked when it was
// built. It doesn't change its inputs, and keeps no reference to them. It charges what it allocates
// to the budget of the call. If the budget is spent, it panics with a value that Do recovers, so
// only Do may run a kernel.
type Kernel func(c *Call) error

// Call has the inputs and outputs of one execution of a kernel.
type Call struct {
	In []Value

	// Out receives the outputs. On entry it has those of the last batch, whose memory may be used
	// again, because they are no longer needed. A kernel that returns an input as its output must
	// therefore never use that memory.
	Out []Value

	Most int // elements that a tensor may have

	Budget  *Budget // of the execution; nil: only Most limits it
	scratch int64   // bytes charged until the kernel returns
}

// arg returns input i as a tensor of a type that was checked when the kernel was built.
func arg[T tensor.Element](c *Call, i int) *tensor.Array[T] { return c.In[i].(*tensor.Array[T]) }

func (c *Call) tensor(i int) tensor.Tensor { return c.In[i].(tensor.Tensor) }

// newOutput makes output i with that shape. Its bytes are charged.
func newOutput[T tensor.Element](c *Call, i int, dims ...int) *tensor.Array[T] {
	c.chargeShape(dims, tensor.BytesOf[T]())
	a := tensor.Reuse[T](c.Out[i], dims...)
	c.Out[i] = a
	return a
}

// allow returns an error for a shape that is impossible, or too large.
func (c *Call) allow(dims []int) error { return tensor.CheckShape(dims, c.Most) }

// broadcast returns the shape of an op on two tensors.
func (c *Call) broadcast(a, b []int) ([]int, error) {
	dims, err := broadcast(a, b)
	if err != nil {
		return nil, err
	}
	return dims, c.allow(dims)
}

// newOutputLike makes output i of the type of a tensor. Its bytes are charged.
func (c *Call) newOutputLike(i int, t tensor.Tensor, dims ...int) tensor.Tensor {
	c.chargeShape(dims, t.ElementBytes())
	out := t.Reuse(c.Out[i], dims)
	c.Out[i] = out
	return out
}

func (c *Call) chargeShape(dims []int, width int64) {
	if len(dims) > tensor.MaxRank {
		must(fmt.Errorf("a tensor of %d dimensions, %d are allowed", len(dims), tensor.MaxRank))
	}
	if bytes := shapeBytes(dims, width); bytes > math.MaxInt64-arrayBytes {
		must(fmt.Errorf("shape %v is impossible", dims))
	} else {
		c.charge(bytes + arrayBytes)
	}
}

// ints returns the integers of input i.
func (c *Call) ints(i int) []int { return c.integers(c.In[i]) }

func (c *Call) integers(v Value) []int {
	if t, ok := v.(tensor.Tensor); ok {
		c.use(8 * int64(t.Size()))
		c.tick(t.Size())
	}
	return tensor.Integers(v)
}

// places returns the indices of a view.
func (c *Call) places(start int, dims, steps []int) []int {
	c.use(shapeBytes(dims, 8))
	return tensor.Offsets(start, dims, steps, c.tick)
}

// counting returns 0, 1, 2, ...
func (c *Call) counting(n int) []int {
	c.use(8 * int64(n))
	return counting(n)
}

// take sets element i of out to the one of from at places[i].
func (c *Call) take(out, from tensor.Tensor, places []int) {
	for at := 0; at < len(places); at += pollEvery {
		c.tick(pollEvery)
		out.Gather(at, from, places[at:min(len(places), at+pollEvery)])
	}
}

// put sets the element of out at places[i] to the one of from at i.
func (c *Call) put(out, from tensor.Tensor, places []int) {
	for at := 0; at < len(places); at += pollEvery {
		c.tick(pollEvery)
		out.Scatter(from, at, places[at:min(len(places), at+pollEvery)])
	}
}
