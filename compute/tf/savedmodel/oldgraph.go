package savedmodel

import (
	"fmt"

	graphpb "github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"

	"github.com/stoker-ml/stoker/compute/tf/graph"
)

// oldGraph adds to a graph of TensorFlow 1 the parts that TensorFlow 2 requires: a function from a
// signature's inputs to its outputs, and objects for the tables and files that it needs. The top
// graph stays, since a session runs it.
type oldGraph struct {
	model     *graph.Model
	objects   *objects
	functions []*function
	number    int64 // at the end of the last function's name

	known   map[port]capture // the objects so far by tensor: assets, and tables that were found
	fillers map[port]string  // by table: the node that fills it
	tables  []port           // that were found, in that order
}

// modernise finds the transform function of a graph of TensorFlow 1 (force_tf_compat_v1), in which
// a signature names the features. After that the graph is like any other: its objects, functions
// and assets are where TensorFlow 2 has them.
func (g *transformGraph) modernise() (*graph.Trace, error) {
	signatures, err := g.model.Signatures()
	if err != nil {
		return nil, err
	}
	s, err := graph.Find(signatures, "transform_signature")
	if err != nil {
		return nil, err
	}
	old, err := newOldGraph(g.model)
	if err != nil {
		return nil, err
	}
	transform, err := old.transformFunction(s)
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(old.tables); i++ { // filling one may need another
		if err := old.addTable(old.tables[i]); err != nil {
			return nil, fmt.Errorf("table %s: %w", old.tables[i].node, err)
		}
		g.inits = append(g.inits, old.fillers[old.tables[i]])
	}
	old.handOver(g.meta)
	g.captures = transform.captures
	return &graph.Trace{Function: transform.def, Inputs: s.Inputs, Outputs: s.Outputs}, nil
}

func newOldGraph(m *graph.Model) (*oldGraph, error) {
	g := &oldGraph{model: m, objects: newObjects(), known: map[port]capture{}, fillers: map[port]string{}}
	for _, def := range m.Meta.GetGraphDef().GetLibrary().GetFunction() {
		_, number, _ := cutNumber(def.GetSignature().GetName())
		g.number = max(g.number, number)
	}
	if err := g.findAssets(); err != nil {
		return nil, err
	}
	return g, g.findFillers()
}

// handOver adds the new functions and objects to the graph's own file.
func (g *oldGraph) handOver(meta *corepb.MetaGraphDef) {
	meta.ObjectGraphDef, meta.AssetFileDef = g.objects.def(), g.model.Assets()
	if meta.GraphDef == nil {
		meta.GraphDef = &graphpb.GraphDef{}
	}
	if meta.GraphDef.Library == nil {
		meta.GraphDef.Library = library(nil)
	}
	for _, f := range g.functions {
		meta.GraphDef.Library.Function = append(meta.GraphDef.Library.Function, f.def)
	}
}

// newFunction begins a function of the graph, under a name that no other has.
func (g *oldGraph) newFunction(name string) *function {
	g.number++
	f := newFunction(fmt.Sprintf("%s%s_%d", functionPrefix, name, g.number))
	g.functions = append(g.functions, f)
	return f
}

// transformFunction returns the function of the nodes between the inputs and the outputs of the
// signature.
func (g *oldGraph) transformFunction(s graph.Signature) (*function, error) {
	inputs, outputs := s.Tensors()
	f := g.newFunction("transform_fn")
	c := g.copying(f)
	for _, in := range s.Inputs {
		for _, dtype := range in.Types() {
			p, err := portOf(inputs[0])
			if err != nil {
				return nil, fmt.Errorf("raw feature %q: %w", in.Name, err)
			}
			c.values[p] = f.input(in.Name, dtype)
			inputs = inputs[1:]
		}
	}
	for _, out := range s.Outputs {
		for _, dtype := range out.Types() {
			value, err := c.value(outputs[0])
			if err != nil {
				return nil, fmt.Errorf("transformed feature %q: %w", out.Name, err)
			}
			f.output(out.Name, value, dtype)
			outputs = outputs[1:]
		}
	}
	return f, nil
}
