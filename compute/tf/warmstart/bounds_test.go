package warmstart

import (
	"fmt"
	"testing"

	functionpb "github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	graphpb "github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	opdefpb "github.com/wamuir/graft/tensorflow/core/framework/op_def_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// A file of some megabytes may name one large function as the signature behind every name. Nodes
// are taken into memory once for each, up to a bound.
func TestSignaturesOfOneLargeFunctionAreBounded(t *testing.T) {
	t.Parallel()
	const nodes, signatures = 20_000, 20_000
	large := &functionpb.FunctionDef{Signature: &opdefpb.OpDef{Name: "f"}}
	for i := range nodes {
		large.NodeDef = append(large.NodeDef, &nodepb.NodeDef{Name: fmt.Sprint("n", i), Op: "NoOp"})
	}
	named := &corepb.SavedObject{}
	for i := range signatures {
		named.Children = append(named.Children, &corepb.TrackableObjectGraph_TrackableObject_ObjectReference{NodeId: 2, LocalName: fmt.Sprint(i)})
	}
	root := &corepb.SavedObject{Children: []*corepb.TrackableObjectGraph_TrackableObject_ObjectReference{{NodeId: 1, LocalName: "signatures"}}}
	function := &corepb.SavedObject{Kind: &corepb.SavedObject_BareConcreteFunction{
		BareConcreteFunction: &corepb.SavedBareConcreteFunction{ConcreteFunctionName: "f"},
	}}
	m := &savedModel{
		graph: &corepb.MetaGraphDef{
			GraphDef: &graphpb.GraphDef{},
			ObjectGraphDef: &corepb.SavedObjectGraph{
				Nodes: []*corepb.SavedObject{root, named, function}, ConcreteFunctions: map[string]*corepb.SavedConcreteFunction{"f": {}},
			},
		},
		functions: map[string]*functionpb.FunctionDef{"f": large},
	}
	tracer := newTracer(m, nil)
	if n := len(tracer.roots()); n < 1 || n*nodes > maxNodes+nodes {
		t.Errorf("%d frames of %d nodes", n, nodes)
	}
}
