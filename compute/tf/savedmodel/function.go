package savedmodel

import (
	"fmt"
	"strings"

	functionpb "github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	oppb "github.com/wamuir/graft/tensorflow/core/framework/op_def_go_proto"
	tensorpb "github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	typepb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"

	"github.com/stoker-ml/stoker/compute/tf/ops"
)

// edge names a value inside a function: an argument's name, or node:output:index.
type edge string

// capture is something outside a function that the function uses: it becomes an argument after the
// function's own, bound to an object of the object graph (for TensorFlow 2) and to a tensor of the
// top graph (for the loaders before it).
type capture struct {
	object int32
	node   string // top graph: node, or node:index
	dtype  typepb.DataType
}

// function is a FunctionDef under construction.
type function struct {
	def      *functionpb.FunctionDef
	captures []capture
	bound    map[string]edge // capture's node -> argument
	names    map[string]bool
}

func newFunction(name string) *function {
	return &function{
		def: &functionpb.FunctionDef{
			Signature: &oppb.OpDef{Name: name, IsStateful: true},
			Ret:       map[string]string{}, ControlRet: map[string]string{},
		},
		bound: map[string]edge{}, names: map[string]bool{},
	}
}

// input declares the next argument. All inputs come before the first capture.
func (f *function) input(key string, dtype typepb.DataType) edge {
	name := f.unique(argumentName(key))
	f.def.Signature.InputArg = append(f.def.Signature.InputArg, &oppb.OpDef_ArgDef{Name: name, Type: dtype})
	return edge(name)
}

// capture returns the argument for c.
func (f *function) capture(c capture) edge {
	if arg, ok := f.bound[c.node]; ok {
		return arg
	}
	arg := f.input(fmt.Sprintf("unknown_%d", len(f.captures)), c.dtype)
	f.captures = append(f.captures, c)
	f.bound[c.node] = arg
	return arg
}

// output returns t from the function. Outputs must be declared in the order of their keys.
func (f *function) output(key string, t edge, dtype typepb.DataType) {
	name := f.unique(argumentName(key) + "_out")
	f.def.Signature.OutputArg = append(f.def.Signature.OutputArg, &oppb.OpDef_ArgDef{Name: name, Type: dtype})
	f.def.Ret[name] = string(t)
}

// op adds a node and returns its first output.
func (f *function) op(op, name string, a attrs, in ...edge) edge {
	return nodeOutput(f.node(op, name, a, in...), ops.FirstOutput(op), 0)
}

// node adds a node and returns its name.
func (f *function) node(op, name string, a attrs, in ...edge) string {
	name = f.unique(nodeName(name))
	node := &nodepb.NodeDef{Name: name, Op: op, Attr: a}
	for _, t := range in {
		node.Input = append(node.Input, string(t))
	}
	f.def.NodeDef = append(f.def.NodeDef, node)
	return name
}

func nodeOutput(node, output string, index int) edge {
	return edge(fmt.Sprintf("%s:%s:%d", node, output, index))
}

func (f *function) constant(name string, value *tensorpb.TensorProto) edge {
	return f.op("Const", name, attrs{"dtype": typeAttr(value.GetDtype()), "value": tensorAttr(value)})
}

// unique returns an unused name in the function.
func (f *function) unique(name string) string {
	return uniqueName(f.names, name)
}

func uniqueName(taken map[string]bool, name string) string {
	candidate := name
	for i := 1; taken[candidate]; i++ {
		candidate = fmt.Sprintf("%s_%d", name, i)
	}
	taken[candidate] = true
	return candidate
}

// argumentName converts a key to a valid name of an argument in TensorFlow: [a-z][a-z0-9_]*.
func argumentName(key string) string {
	name := mapName(strings.ToLower(key), func(r rune) bool { return r == '_' })
	if name == "" || name[0] < 'a' || name[0] > 'z' {
		return "arg_" + name
	}
	return name
}

// nodeName converts a name to a valid name of a node in TensorFlow: [A-Za-z0-9.][A-Za-z0-9_.\-/]*.
func nodeName(name string) string {
	name = mapName(name, func(r rune) bool { return strings.ContainsRune("_.-/", r) })
	if name == "" || strings.ContainsRune("_-/", rune(name[0])) {
		return "node" + name
	}
	return name
}

func mapName(name string, allowed func(rune) bool) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || allowed(r) {
			return r
		}
		return '_'
	}, name)
}
