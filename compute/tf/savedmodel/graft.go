package savedmodel

import (
	"fmt"
	"path/filepath"
	"strings"

	attrpb "github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	functionpb "github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// transformChild is the root's child that is the parent of the transform graph's objects.
const transformChild = "tft"

// transform is a transform graph grafted into the model: a function of it that signatures can call.
type transform struct {
	*transformGraph
	grafted []capture // the captures under their names in the model
}

// graft copies what the transform function needs: functions, constants, tables, assets, and both
// ways in which tables are filled. Everything gets a new name, which does not conflict with the
// model's names.
func (b *builder) graft(g *transformGraph) (*transform, error) {
	r := newRenamer(g, int32(len(b.objects.nodes)), int32(len(b.assets)))
	keep, err := g.keep()
	if err != nil {
		return nil, err
	}
	b.graftGraph(g, keep, r)
	if err := b.graftVariables(g, r); err != nil {
		return nil, err
	}
	if err := b.graftObjects(g, r); err != nil {
		return nil, err
	}
	if err := b.graftAssets(g, r); err != nil {
		return nil, err
	}
	for _, node := range g.inits {
		b.inits = append(b.inits, r.node(node))
	}
	t := &transform{transformGraph: g}
	for _, c := range g.captures {
		t.grafted = append(t.grafted, capture{object: r.object(c.object), node: r.tensor(c.node), dtype: c.dtype})
	}
	return t, nil
}

func (b *builder) graftGraph(g *transformGraph, keep *kept, r *renamer) {
	for _, node := range g.meta.GetGraphDef().GetNode() {
		if keep.nodes[node.GetName()] {
			r.topNode(node)
			b.top.nodes = append(b.top.nodes, node)
			b.top.names[node.GetName()] = true
		}
	}
	for _, def := range g.meta.GetGraphDef().GetLibrary().GetFunction() {
		if keep.functions[def.GetSignature().GetName()] {
			r.rename(def)
			b.functions = append(b.functions, &function{def: def})
		}
	}
	b.top.atLeast(g.meta.GetGraphDef().GetVersions())
}

// asset is a file that is copied into the model.
type asset struct {
	source string
	def    *corepb.AssetFileDef
}

func (b *builder) graftAssets(g *transformGraph, r *renamer) error {
	for _, def := range g.meta.GetAssetFileDef() {
		if !filepath.IsLocal(def.GetFilename()) {
			return fmt.Errorf("asset %q lies outside the folder of assets", def.GetFilename())
		}
		info := def.GetTensorInfo()
		info.Encoding = &corepb.TensorInfo_Name{Name: r.tensor(info.GetName())}
		b.assets = append(b.assets, asset{source: filepath.Join(g.dir, "assets", def.GetFilename()), def: def})
	}
	return nil
}

// renamer gives grafted nodes, functions and objects names and numbers that are unused in the
// model.
type renamer struct {
	objects, assets int32 // what the model had before
	functions       map[string]string
}

func newRenamer(g *transformGraph, objects, assets int32) *renamer {
	r := &renamer{objects: objects, assets: assets, functions: map[string]string{}}
	for _, def := range g.meta.GetGraphDef().GetLibrary().GetFunction() {
		name := def.GetSignature().GetName()
		r.functions[name] = functionPrefix + "tft_" + strings.TrimPrefix(name, functionPrefix)
	}
	return r
}

// functionPrefix begins, and a number ends, the names of functions; tf.saved_model.load reads the
// name between them.
const functionPrefix = "__inference_"

func (r *renamer) object(id int32) int32 { return id + r.objects }

func (r *renamer) node(name string) string { return "transform/" + name }

// tensor renames a reference in the top graph: node, node:index or ^node.
func (r *renamer) tensor(reference string) string {
	if name, ok := strings.CutPrefix(reference, "^"); ok {
		return "^" + r.node(name)
	}
	return r.node(reference)
}

// function renames a function; the name of an op stays.
func (r *renamer) function(name string) string {
	if renamed, ok := r.functions[name]; ok {
		return renamed
	}
	return name
}

func (r *renamer) topNode(node *nodepb.NodeDef) {
	node.Name = r.node(node.GetName())
	for i, in := range node.GetInput() {
		node.Input[i] = r.tensor(in)
	}
	classes := node.GetAttr()["_class"].GetList().GetS()
	for i, class := range classes {
		if name, ok := strings.CutPrefix(string(class), colocationPrefix); ok {
			classes[i] = []byte(colocationPrefix + r.node(name))
		}
	}
	if shared, ok := node.GetAttr()["shared_name"]; ok && node.GetOp() == "VarHandleOp" {
		shared.Value = stringAttr(r.node(string(shared.GetS()))).Value
	}
	r.anyNode(node)
}

// rename renames a function, and the references in its body to nodes and functions outside of it.
func (r *renamer) rename(def *functionpb.FunctionDef) {
	signature := def.GetSignature()
	signature.Name = r.function(signature.GetName())
	for _, node := range def.GetNodeDef() {
		r.anyNode(node)
	}
}

// anyNode renames the functions that a node of the top graph or of a function calls. The
// shared_name of a table stays: it is the same in the top graph and in the function that makes the
// table, and tf.saved_model.load makes new names for each load.
func (r *renamer) anyNode(node *nodepb.NodeDef) {
	node.Op = r.function(node.GetOp())
	eachFunction(node.GetAttr(), func(f *attrpb.NameAttrList) { f.Name = r.function(f.GetName()) })
}
