package savedmodel

import (
	"fmt"
	"strings"

	attrpb "github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	functionpb "github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
)

// kept is what a transform graph needs of its files: nodes of the top graph and functions, by name.
type kept struct {
	nodes, functions map[string]bool
	init             string // node that fills the tables, "" for none
	top              map[string]*nodepb.NodeDef
	library          map[string]*functionpb.FunctionDef
}

// keep walks from the captures, the constants and functions of the object graph, the assets and the init op. Placeholders of inputs,
// calls of signatures and the saver aren't reached.
func (g *transformGraph) keep(bound map[int32]string) (*kept, error) {
	k := &kept{
		nodes: map[string]bool{}, functions: map[string]bool{},
		top: map[string]*nodepb.NodeDef{}, library: map[string]*functionpb.FunctionDef{},
	}
	for _, node := range g.meta.GetGraphDef().GetNode() {
		k.top[node.GetName()] = node
	}
	for _, def := range g.meta.GetGraphDef().GetLibrary().GetFunction() {
		k.library[def.GetSignature().GetName()] = def
	}
	k.init = g.initNode()
	var roots []string
	if k.init != "" {
		roots = append(roots, k.init)
	}
	for _, node := range bound {
		roots = append(roots, nodeOf(node))
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

// initNode is named by a collection, or by a signature's one output.
func (g *transformGraph) initNode() string {
	if list := g.meta.GetCollectionDef()[initCollection].GetNodeList().GetValue(); len(list) > 0 {
		return nodeOf(list[0])
	}
	return nodeOf(g.meta.GetSignatureDef()[initSignature].GetOutputs()[initSignature].GetName())
}

// reach keeps the nodes and all they need.
func (k *kept) reach(names []string) error {
	for len(names) > 0 {
		name := names[len(names)-1]
		names = names[:len(names)-1]
		if k.nodes[name] {
			continue
		}
		node, ok := k.top[name]
		if !ok {
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

// function keeps a function and those it calls. Names that are no function's are ops.
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

// eachFunction visits the functions that attributes name, in lists and in each other's attributes too.
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

// nodeOf is the node in a reference: node, node:index or ^node.
func nodeOf(reference string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(reference, "^"), ":")
	return name
}

// colocationPrefix marks a node's name in the list _class.
const colocationPrefix = "loc:@"

// colocated are the nodes that this one has to be placed with. TensorFlow refuses a graph where one is missing.
func colocated(node *nodepb.NodeDef) []string {
	var names []string
	for _, class := range node.GetAttr()["_class"].GetList().GetS() {
		if name, ok := strings.CutPrefix(string(class), colocationPrefix); ok {
			names = append(names, name)
		}
	}
	return names
}
