package ops

import (
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// Variable is a variable that a graph reads. Graphs that set variables while they run aren't
// executed, so its value is constant.
type Variable struct {
	Name  string
	DType tensor.DType

	value tensor.Tensor
	read  func() (tensor.Tensor, error)
}

// Set sets the function that returns the variable's value. It is called once, when a node that
// reads the variable is compiled.
func (v *Variable) Set(read func() (tensor.Tensor, error)) { v.value, v.read = nil, read }

// Value returns the variable's value.
func (v *Variable) Value() (tensor.Tensor, error) {
	if v.value != nil {
		return v.value, nil
	}
	if v.read == nil {
		return nil, fmt.Errorf("variable %q has no value: nothing restores or sets it", v.Name)
	}
	t, err := v.read()
	if err == nil && t.DType() != v.DType {
		err = fmt.Errorf("holds %v, not %v", t.DType(), v.DType)
	}
	if err != nil {
		return nil, fmt.Errorf("variable %q: %w", v.Name, err)
	}
	v.value = t
	return t, nil
}

// fixedVariable returns the value of the variable that input 0 always is.
func (n *Node) fixedVariable() (tensor.Tensor, error) {
	if len(n.In) == 0 {
		return nil, errors.New("has no inputs")
	}
	v, ok := n.Fixed[0].(*Variable)
	if !ok {
		return nil, errors.New("input 0 is no variable that is known beforehand")
	}
	return v.Value()
}

func buildReadVariable(n *Node) (Kernel, error) {
	t, err := n.fixedVariable()
	if err != nil {
		return nil, err
	}
	n.Out = []tensor.DType{t.DType()}
	return func(c *Call) error { c.Out[0] = t; return nil }, n.takes(1)
}

// buildResourceGather picks rows of a variable.
func buildResourceGather(n *Node) (Kernel, error) {
	t, err := n.fixedVariable()
	if err != nil {
		return nil, err
	}
	if n.Integer("batch_dims", 0) != 0 {
		return nil, errors.New("batch_dims isn't 0")
	}
	n.Out = []tensor.DType{t.DType()}
	return func(c *Call) error { return gatherRows(c, t, c.tensor(1), 0) }, errors.Join(n.takes(2), n.wantInts(1))
}
