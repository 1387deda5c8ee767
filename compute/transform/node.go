package transform

import (
	"errors"
	"fmt"
	"slices"

	attrpb "github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
)

// op is how a node of one kind becomes a kernel.
type op struct {
	// build checks types and attributes, sets node.out, and gives the kernel.
	build func(n *node) (kernel, error)

	// outputs names the outputs, for the ops that have several, in their order. Within a function, other nodes refer to them
	// so.
	outputs []string
}

// node is a node that is being compiled.
type node struct {
	def   *nodepb.NodeDef
	in    []dtype
	fixed []value // by input: what it always is, nil if that isn't known
	out   []dtype // set by build

	function func(attr string, args []dtype) (*plan, error) // compiles the function that an attribute names
}

// errType is the end of an error about an input's type.
var errType = errors.New("not a type this op is executed for")

// takes checks the number of inputs.
func (n *node) takes(count int) error {
	if len(n.in) != count {
		return fmt.Errorf("has %d inputs, wants %d", len(n.in), count)
	}
	return nil
}

// want checks number and types of the inputs. 0 stands for any type of tensor.
func (n *node) want(types ...dtype) error {
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

func (n *node) wantAt(i int, t dtype) error {
	if t == 0 && newTensor(n.in[i]) == nil || t != 0 && n.in[i] != t {
		return fmt.Errorf("input %d is %v: %w", i, n.in[i], errType)
	}
	return nil
}

// wantSame checks that all inputs are tensors of one type.
func (n *node) wantSame() error {
	if len(n.in) == 0 {
		return errors.New("has no inputs")
	}
	return n.want(slices.Repeat([]dtype{n.in[0]}, len(n.in))...)
}

// wantInts checks that input i is of int32 or int64.
func (n *node) wantInts(places ...int) error {
	for _, i := range places {
		if i >= len(n.in) || n.in[i] != int32Type && n.in[i] != int64Type {
			return fmt.Errorf("input %d isn't of int32 or int64", i)
		}
	}
	return nil
}

func (n *node) attr(name string) *attrpb.AttrValue { return n.def.GetAttr()[name] }

// integer is an attribute, or the op's default where it was left out for being that.
func (n *node) integer(name string, absent int) int {
	if a := n.attr(name); a != nil {
		return int(a.GetI())
	}
	return absent
}

func (n *node) boolean(name string, absent bool) bool {
	if a := n.attr(name); a != nil {
		return a.GetB()
	}
	return absent
}

func (n *node) text(name, absent string) string {
	if a := n.attr(name); a != nil {
		return string(a.GetS())
	}
	return absent
}

func (n *node) dtype(name string, absent dtype) dtype {
	if a := n.attr(name); a != nil {
		return a.GetType()
	}
	return absent
}

func (n *node) ints(name string) []int {
	var list []int
	for _, i := range n.attr(name).GetList().GetI() {
		list = append(list, int(i))
	}
	return list
}
