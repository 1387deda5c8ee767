package warmstart

import (
	"slices"
	"strconv"
	"strings"

	functionpb "github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
)

// frame is one call of a function in a SavedModel, or its graph outside of functions.
type frame struct {
	caller *frame
	depth  int
	fn     *functionpb.FunctionDef // nil: the graph
	nodes  map[string]*nodepb.NodeDef
	args   map[string]argument
	calls  map[string]*frame // by the node that calls
	seen   map[tensorKey][]column
}

// argument is an argument of a function: a tensor of its caller's, an object that it captured, or a
// value that the user gives by that name.
type argument struct {
	tensor  string // in the caller's frame
	object  int32  // captured; -1: none
	feature []column
	width   int // of the user's arguments; 0: not known
}

// origin is where a tensor comes from: an output of a node, or an argument whose source is unknown.
type origin struct {
	frame  *frame
	node   *nodepb.NodeDef // nil: an argument
	output string          // name of the output, "" in the graph
	index  int
	argument
}

// cutTensor splits the name of a tensor: node:output:index in a function, node:index in the graph,
// an argument's or a node's name alone.
func cutTensor(name string) (node, output string, index int) {
	parts := strings.Split(strings.TrimPrefix(name, "^"), ":")
	if len(parts) > 1 {
		index, _ = strconv.Atoi(parts[len(parts)-1]) // 0 for what TensorFlow would not have written
	}
	if len(parts) > 2 {
		output = parts[1]
	}
	return parts[0], output, index
}

// origin follows a tensor through arguments up to its source.
func (f *frame) origin(name string) (origin, bool) {
	for {
		node, output, index := cutTensor(name)
		arg, isArg := f.args[node]
		switch {
		case !isArg:
			n, ok := f.nodes[node]
			return origin{frame: f, node: n, output: output, index: index}, ok
		case arg.object >= 0 || arg.feature != nil || f.caller == nil:
			return origin{frame: f, argument: arg}, true
		}
		f, name = f.caller, arg.tensor
	}
}

// through follows a tensor also through nodes that return their input.
func (f *frame) through(name string, ops ...string) (origin, bool) {
	for range maxChain {
		o, ok := f.origin(name)
		if !ok || o.node == nil || !slices.Contains(ops, o.node.GetOp()) || len(o.node.GetInput()) == 0 {
			return o, ok
		}
		f, name = o.frame, o.node.GetInput()[0]
	}
	return origin{}, false
}

// Limits of the work for one model. Usual models are far below.
const (
	maxChain   = 10000   // nodes one behind the other
	maxDepth   = 64      // calls within calls
	maxFrames  = 10000   // calls in all
	maxNodes   = 1 << 21 // of all frames
	maxColumns = 1 << 21 // of one value
	maxWork    = 1 << 24 // columns in all
)
