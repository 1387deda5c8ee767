package savedmodel

import (
	"fmt"
	"slices"
	"strings"

	attrpb "github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	functionpb "github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
)

// kept is the part of a transform graph that is needed: nodes of the top graph and functions, by
// name.
type kept struct {
	nodes, functions map[string]bool
	node             func(name string) *nodepb.NodeDef
	library          map[string]*functionpb.FunctionDef
}

// keep walks from the captures, the constants and functions of the object graph, the assets and the
// init op. Placeholders of inputs, calls of signatures and the saver aren't reached.
func (g *transformGraph) keep() (*kept, error) {
	k := &kept{
		nodes: map[string]bool{}, functions: map[string]bool{},
		node: g.model.Node, library: map[string]*functionpb.FunctionDef{},
	}
	for _, def := range g.meta.GetGraphDef().GetLibrary().GetFunction() {
		k.library[def.GetSignature().GetName()] = def
	}
	roots := slices.Clone(g.inits)
	for _, c := range g.captures {
		roots = append(roots, nodeOf(c.node))
	}
	for _, object := range g.meta.GetObjectGraphDef().GetNodes() {
		if constant := object.GetConstant(); constant != nil {
			roots = append(roots, constant.GetOperation())
		}
	}
	for _, def := range g.meta.GetAssetFileDef() { // a session feeds it the path
		roots = append(roots, nodeOf(def.GetTensorInfo().GetName()))
	}
	for name := range g.meta.GetObjectGraphDef().GetConcreteFunctions() {
		k.function(name)
	}
	k.function(g.function.GetSignature().GetName())
	return k, k.reach(roots)
}

// reach keeps the nodes and all nodes that they need.
func (k *kept) reach(names []string) error {
	for len(names) > 0 {
		name := names[len(names)-1]
		names = names[:len(names)-1]
		if k.nodes[name] {
			continue
		}
		node := k.node(name)
		if node == nil {
			return fmt.Errorf("graph has no node %q", name)
		}
		k.nodes[name] = true
		for _, in := range node.GetInput() {
			names = append(names, nodeOf(in))
		}
		names = append(names, colocated(node)...)
		k.calls(node)
	}
	return nil
}

// function keeps a function and those it calls. Names that aren't those of functions are ops.
func (k *kept) function(name string) {
	def, ok := k.library[name]
	if !ok || k.functions[name] {
		return
	}
	k.functions[name] = true
	for _, node := range def.GetNodeDef() {
		k.calls(node)
	}
}

func (k *kept) calls(node *nodepb.NodeDef) {
	k.function(node.GetOp())
	eachFunction(node.GetAttr(), func(f *attrpb.NameAttrList) { k.function(f.GetName()) })
}

// eachFunction visits the functions that attributes name, also in lists and in the attributes of
// functions.
func eachFunction(a map[string]*attrpb.AttrValue, visit func(*attrpb.NameAttrList)) {
	for _, value := range a {
		named := value.GetList().GetFunc()
		if f := value.GetFunc(); f != nil {
			named = append(named, f)
		}
		for _, f := range named {
			visit(f)
			eachFunction(f.GetAttr(), visit)
		}
	}
}

// nodeOf returns the node in a reference: node, node:index or ^node.
func nodeOf(reference string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(reference, "^"), ":")
	return name
}

// colocationPrefix marks a node's name in the list _class.
const colocationPrefix = "loc:@"

// colocated returns the nodes that this one must be placed with. TensorFlow refuses a graph where
// one is missing.
func colocated(node *nodepb.NodeDef) []string {
	var names []string
	for _, class := range node.GetAttr()["_class"].GetList().GetS() {
		if name, ok := strings.CutPrefix(string(class), colocationPrefix); ok {
			names = append(names, name)
		}
	}
	return names
}
