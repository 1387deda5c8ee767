package ops

import (
	"errors"
	"fmt"
	"slices"

	attrpb "github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// Op builds the kernels of one kind of nodes.
type Op struct {
	// Build checks types and attributes, sets Node.Out, and returns the kernel.
	Build func(n *Node) (Kernel, error)

	// Outputs names the outputs, for the ops that have several, in their order. Within a function,
	// other nodes refer to them by these names.
	Outputs []string

	// widths returns the number of tensors of each output, for ops whose outputs are lists. nil:
	// each output is one tensor.
	widths func(def *nodepb.NodeDef) []int
}

// Before returns the number of tensors that a node has before its output number i.
func (o Op) Before(def *nodepb.NodeDef, i int) int {
	if o.widths == nil {
		return i
	}
	before := 0
	for _, width := range o.widths(def)[:i] {
		before += width
	}
	return before
}

// Node is a node that is being compiled.
type Node struct {
	Def   *nodepb.NodeDef
	In    []tensor.DType
	Fixed []Value        // by input: what it always is, nil if that isn't known
	Out   []tensor.DType // set by Build

	// Compiles the function of which an attribute is the name.
	Function func(attr string, args []tensor.DType) (Function, error)
	Budget   *Budget // of the compilation
}

// errType is the end of an error about an input's type.
var errType = errors.New("not a type this op is executed for")

// takes checks the number of inputs.
func (n *Node) takes(count int) error {
	if len(n.In) != count {
		return fmt.Errorf("has %d inputs, wants %d", len(n.In), count)
	}
	return nil
}

// want checks number and types of the inputs. 0 is any type of tensor.
func (n *Node) want(types ...tensor.DType) error {
	if err := n.takes(len(types)); err != nil {
		return err
	}
	for i, t := range types {
		if err := n.wantAt(i, t); err != nil {
			return err
		}
	}
	return nil
}

func (n *Node) wantAt(i int, t tensor.DType) error {
	if t == 0 && tensor.Empty(n.In[i]) == nil || t != 0 && n.In[i] != t {
		return fmt.Errorf("input %d is %v: %w", i, n.In[i], errType)
	}
	return nil
}

// wantSame checks that all inputs are tensors of one type.
func (n *Node) wantSame() error {
	if len(n.In) == 0 {
		return errors.New("has no inputs")
	}
	return n.want(slices.Repeat([]tensor.DType{n.In[0]}, len(n.In))...)
}

// wantInts checks that input i is of int32 or int64.
func (n *Node) wantInts(places ...int) error {
	for _, i := range places {
		if i >= len(n.In) || n.In[i] != tensor.Int32 && n.In[i] != tensor.Int64 {
			return fmt.Errorf("input %d isn't of int32 or int64", i)
		}
	}
	return nil
}

func (n *Node) attr(name string) *attrpb.AttrValue { return n.Def.GetAttr()[name] }

// Integer returns an attribute, or the op's default if it was omitted because it has that value.
func (n *Node) Integer(name string, absent int) int {
	if a := n.attr(name); a != nil {
		return int(a.GetI())
	}
	return absent
}

// Boolean is like Integer, for a bool.
func (n *Node) Boolean(name string, absent bool) bool {
	if a := n.attr(name); a != nil {
		return a.GetB()
	}
	return absent
}

// Text is like Integer, for a string.
func (n *Node) Text(name, absent string) string {
	if a := n.attr(name); a != nil {
		return string(a.GetS())
	}
	return absent
}

func (n *Node) dtype(name string, absent tensor.DType) tensor.DType {
	if a := n.attr(name); a != nil {
		return a.GetType()
	}
	return absent
}

func (n *Node) ints(name string) []int {
	var list []int
	for _, i := range n.attr(name).GetList().GetI() {
		list = append(list, int(i))
	}
	return list
}

func (n *Node) types(name string) []tensor.DType { return n.attr(name).GetList().GetType() }

// fixedStrings returns the strings that input i always is.
func (n *Node) fixedStrings(i int) ([]string, error) {
	a, ok := n.Fixed[i].(*tensor.Array[string])
	if !ok {
		return nil, fmt.Errorf("input %d is no strings that are known beforehand", i)
	}
	return a.Data, nil
}
