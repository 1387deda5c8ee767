package ops

import (
	"errors"
	"fmt"

	tensorpb "github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// buildFill repeats a scalar.
func buildFill(n *Node) (Kernel, error) {
	if err := n.takes(2); err != nil {
		return nil, err
	}
	if err := n.wantAt(1, 0); err != nil {
		return nil, err
	}
	n.Out = n.In[1:2]
	return func(c *Call) error {
		dims := c.ints(0)
		if err := c.allow(dims); err != nil {
			return err
		}
		if c.tensor(1).Size() != 1 {
			return fmt.Errorf("the value has %d elements, wants one", c.tensor(1).Size())
		}
		c.newOutputLike(0, c.tensor(1), dims...).Fill(c.tensor(1), 0)
		return nil
	}, n.wantInts(0)
}

// filledLike makes a tensor of the shape of input 0, with one value.
func filledLike(n *Node, one bool) (Kernel, error) {
	if err := n.want(0); err != nil {
		return nil, err
	}
	n.Out = n.In
	v := tensor.Empty(n.In[0]).Reuse(nil, nil)
	if one && !setOne(v) {
		return nil, fmt.Errorf("input 0 is %v: %w", n.In[0], errType)
	}
	return func(c *Call) error {
		c.newOutputLike(0, v, c.tensor(0).Shape()...).Fill(v, 0)
		return nil
	}, nil
}

func setOne(v tensor.Tensor) bool {
	switch a := v.(type) {
	case *tensor.Array[float32]:
		a.Data[0] = 1
	case *tensor.Array[float64]:
		a.Data[0] = 1
	case *tensor.Array[int32]:
		a.Data[0] = 1
	case *tensor.Array[int64]:
		a.Data[0] = 1
	case *tensor.Array[bool]:
		a.Data[0] = true
	default:
		return false
	}
	return true
}

func buildZerosLike(n *Node) (Kernel, error) { return filledLike(n, false) }
func buildOnesLike(n *Node) (Kernel, error)  { return filledLike(n, true) }

// buildRange counts from input 0 up to, not including, input 1, in steps of input 2.
func buildRange(n *Node) (Kernel, error) {
	if err := n.takes(3); err != nil {
		return nil, err
	}
	n.Out = n.In[:1]
	if err := n.wantSame(); err != nil {
		return nil, err
	}
	switch n.In[0] {
	case tensor.Int32:
		return countUp[int32], nil
	case tensor.Int64:
		return countUp[int64], nil
	}
	return nil, fmt.Errorf("input 0 is %v: %w", n.In[0], errType)
}

func countUp[T int32 | int64](c *Call) error {
	start, limit, step, err := rangeOf[T](c)
	if err != nil {
		return err
	}
	steps := uint64(0)
	if step > 0 && start < limit {
		steps = (uint64(limit)-uint64(start)-1)/uint64(step) + 1
	} else if step < 0 && start > limit {
		steps = (uint64(start)-uint64(limit)-1)/uint64(-step) + 1
	}
	if steps > uint64(c.Most) {
		return fmt.Errorf("range of %d elements", steps)
	}
	out := newOutput[T](c, 0, int(steps))
	for i := range out.Data {
		out.Data[i] = T(start + int64(i)*step)
	}
	return nil
}

func rangeOf[T int32 | int64](c *Call) (start, limit, step int64, err error) {
	for i := range 3 {
		if c.tensor(i).Size() != 1 {
			return 0, 0, 0, fmt.Errorf("input %d has %d elements, wants one", i, c.tensor(i).Size())
		}
	}
	step = int64(arg[T](c, 2).Data[0])
	if step == 0 {
		err = errors.New("step is 0")
	}
	return int64(arg[T](c, 0).Data[0]), int64(arg[T](c, 1).Data[0]), step, err
}

// buildOneHot puts the value of input 2 where the index says, that of input 3 elsewhere. An index
// that is out of range sets no element.
func buildOneHot(n *Node) (Kernel, error) {
	if err := n.takes(4); err != nil {
		return nil, err
	}
	if err := n.wantAt(2, 0); err != nil {
		return nil, err
	}
	if n.In[3] != n.In[2] {
		return nil, fmt.Errorf("input 3 is %v, input 2 %v", n.In[3], n.In[2])
	}
	at := n.Integer("axis", -1)
	n.Out = n.In[2:3]
	return func(c *Call) error {
		depth, err := integer1(c.In[1])
		if err != nil {
			return fmt.Errorf("depth %w", err)
		}
		if c.tensor(2).Size() != 1 || c.tensor(3).Size() != 1 {
			return errors.New("on_value and off_value must be scalars")
		}
		return oneHot(c, at, depth)
	}, n.wantInts(0, 1)
}

func oneHot(c *Call, at, depth int) error {
	indices, shape := c.ints(0), c.tensor(0).Shape()
	at, err := axis(at, len(shape)+1)
	if err != nil {
		return err
	}
	dims := append(append(append([]int{}, shape[:at]...), depth), shape[at:]...)
	if err := c.allow(dims); err != nil {
		return err
	}
	out := c.newOutputLike(0, c.tensor(2), dims...)
	out.Fill(c.tensor(3), 0)
	inner := tensor.Count(shape[at:])
	for i, index := range indices {
		if index >= 0 && index < depth {
			out.CopyFrom((i/inner*depth+index)*inner+i%inner, c.tensor(2), 0, 1)
		}
	}
	return nil
}

func buildConst(n *Node) (Kernel, error) {
	v, err := Constant(n.attr("value").GetTensor(), n.Budget)
	if err != nil {
		return nil, err
	}
	n.Out = []tensor.DType{v.DType()}
	return func(c *Call) error { c.Out[0] = v; return nil }, n.takes(0)
}

// Constant reads a tensor that is in a graph (tensor.FromProto). Its bytes are charged to b before
// memory is allocated for it.
func Constant(p *tensorpb.TensorProto, b *Budget) (tensor.Tensor, error) {
	dims, err := tensor.FixedShape(p)
	if err != nil {
		return nil, err
	}
	if like := tensor.Empty(p.GetDtype()); like != nil {
		bytes := arrayBytes + shapeBytes(dims, like.ElementBytes())
		for _, s := range p.GetStringVal() {
			bytes += int64(len(s))
		}
		if err := b.Charge(bytes); err != nil {
			return nil, err
		}
	}
	return tensor.FromProto(p)
}
