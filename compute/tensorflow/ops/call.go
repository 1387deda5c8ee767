package ops

// Kernel computes the outputs of a node from its inputs, whose types were checked when it was built. It doesn't change its
// inputs, and keeps nothing.
type Kernel func(c *Call) error

// Call is what a kernel works on.
type Call struct {
	In []Value

	// Out takes the outputs. On entry it holds those of the last batch, whose memory may be used again: nobody has use for
	// them any more. A kernel that hands on an input as its output must therefore never use that memory.
	Out []Value

	Most int // elements that a tensor may have
}

// arg is input i as a tensor of a type that was checked when the kernel was built.
func arg[T Element](c *Call, i int) *Array[T] { return c.In[i].(*Array[T]) }

func (c *Call) tensor(i int) Tensor { return c.In[i].(Tensor) }

// room is output i with that shape.
func room[T Element](c *Call, i int, dims ...int) *Array[T] {
	a := RoomIn[T](c.Out[i], dims...)
	c.Out[i] = a
	return a
}

// allow is an error for a shape that is impossible, or too large.
func (c *Call) allow(dims []int) error { return allow(dims, c.Most) }

// broadcast is the shape of an op on two tensors.
func (c *Call) broadcast(a, b []int) ([]int, error) {
	dims, err := broadcast(a, b)
	if err != nil {
		return nil, err
	}
	return dims, c.allow(dims)
}

// roomLike is output i of the type of a tensor.
func (c *Call) roomLike(i int, t Tensor, dims ...int) Tensor {
	out := t.room(c.Out[i], dims)
	c.Out[i] = out
	return out
}
