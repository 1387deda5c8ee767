package savedmodel

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	functionpb "github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	graphpb "github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	oppb "github.com/wamuir/graft/tensorflow/core/framework/op_def_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// node returns a node of a graph, with the names of its inputs.
func node(name, op string, inputs ...string) *nodepb.NodeDef {
	return &nodepb.NodeDef{Name: name, Op: op, Input: inputs}
}

// libraryFunction returns one of a library, which waits for the nodes in waited.
func libraryFunction(name string, waited []string, nodes ...*nodepb.NodeDef) *functionpb.FunctionDef {
	f := &functionpb.FunctionDef{Signature: &oppb.OpDef{Name: name}, NodeDef: nodes, ControlRet: map[string]string{}}
	for i, w := range waited {
		f.ControlRet[fmt.Sprint("out", i)] = w
	}
	return f
}

// servedGraph returns a SavedModel of a graph and a library, and of nothing else.
func servedGraph(t *testing.T, nodes []*nodepb.NodeDef, library ...*functionpb.FunctionDef) *Served {
	t.Helper()
	graph := &graphpb.GraphDef{Node: nodes, Library: &functionpb.FunctionDefLibrary{Function: library}}
	data, err := marshal(&corepb.SavedModel{MetaGraphs: []*corepb.MetaGraphDef{{
		MetaInfoDef: &corepb.MetaGraphDef_MetaInfoDef{Tags: []string{"serve"}}, GraphDef: graph,
	}}})
	dir := t.TempDir()
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "saved_model.pb"), data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSaysWhetherAModelParsesExamples(t *testing.T) {
	t.Parallel()
	for _, op := range []string{
		"ParseExample", "ParseExampleV2", "ParseSingleExample", "ParseSequenceExample", "ParseSequenceExampleV2", "ParseSingleSequenceExample",
		"ParseExampleDataset", "ParseExampleDatasetV2", "DecodeProtoV2", "PyFunc", "PyFuncStateless", "EagerPyFunc",
	} {
		if !servedGraph(t, []*nodepb.NodeDef{node("a", op)}).ParsesExamples() {
			t.Errorf("%s in the graph", op)
		}
		inner := libraryFunction("inner", nil, node("b", op))
		outer := libraryFunction("outer", nil, node("a", "PartitionedCall"))
		if !servedGraph(t, []*nodepb.NodeDef{node("a", "StatefulPartitionedCall")}, outer, inner).ParsesExamples() {
			t.Errorf("%s in a function", op)
		}
	}
	for name, s := range map[string]*Served{
		"an empty graph":            servedGraph(t, nil),
		"other operations":          servedGraph(t, []*nodepb.NodeDef{node("a", "MatMul"), node("b", "ParseTensor"), node("c", "DecodeRaw")}),
		"nodes named as operations": servedGraph(t, []*nodepb.NodeDef{node("ParseExampleV2", "Identity", "ParseExampleV2:0")}, libraryFunction("ParseExample", nil, node("PyFunc", "NoOp"))),
		"other case":                servedGraph(t, []*nodepb.NodeDef{node("a", "parseexample")}),
		"no op":                     servedGraph(t, []*nodepb.NodeDef{node("", ""), {}}),
	} {
		if s.ParsesExamples() {
			t.Error(name)
		}
	}
}

func TestSaysWhetherANodeMayFailThatRunsForItsEffect(t *testing.T) {
	t.Parallel()
	var chain []*nodepb.NodeDef // 100,000 nodes, and an assertion at the other end
	for i := range 100_000 {
		chain = append(chain, node(fmt.Sprint("n", i), "Identity", fmt.Sprint("n", i+1)))
	}
	chain = append(chain, node("out", "MatMul", "^n0"))
	for name, tt := range map[string]struct {
		nodes   []*nodepb.NodeDef
		library []*functionpb.FunctionDef
		want    bool
	}{
		"an empty graph":                      {},
		"an assertion that nothing waits for": {[]*nodepb.NodeDef{node("a", "Assert"), node("b", "Identity", "x")}, nil, false},
		"an assertion":                        {[]*nodepb.NodeDef{node("a", "Assert"), node("b", "Identity", "x", "^a")}, nil, true},
		"behind a group":                      {[]*nodepb.NodeDef{node("a", "Assert"), node("g", "NoOp", "^a"), node("b", "Identity", "^g")}, nil, true},
		"numbers that are checked":            {[]*nodepb.NodeDef{node("a", "CheckNumerics", "x"), node("b", "Identity", "x", "^a")}, nil, true},
		"numbers whose copy is waited for":    {[]*nodepb.NodeDef{node("a", "CheckNumerics", "x"), node("i", "IdentityN", "x", "a:1"), node("b", "Identity", "x", "^i")}, nil, true},
		"a result that is computed":           {[]*nodepb.NodeDef{node("a", "CheckNumerics", "x"), node("b", "Identity", "a")}, nil, false},
		"variables that are read":             {[]*nodepb.NodeDef{node("a", "ReadVariableOp", "v"), node("g", "NoOp", "^a"), node("b", "Identity", "x", "^g")}, nil, false},
		"a function that is called":           {[]*nodepb.NodeDef{node("a", "StatefulPartitionedCall"), node("b", "Identity", "^a")}, []*functionpb.FunctionDef{libraryFunction("f", nil, node("c", "MatMul"))}, false},
		"a function that asserts": {
			[]*nodepb.NodeDef{node("a", "StatefulPartitionedCall"), node("b", "Identity", "^a")},
			[]*functionpb.FunctionDef{libraryFunction("f", []string{"c"}, node("c", "Assert"))}, true,
		},
		"a function that copies what it checks": {nil, []*functionpb.FunctionDef{libraryFunction("f", []string{"i"}, node("c", "CheckNumerics"), node("i", "Identity", "c:output:0"))}, true},
		"a function that waits for a variable":  {nil, []*functionpb.FunctionDef{libraryFunction("f", []string{"c"}, node("c", "ReadVariableOp"))}, false},
		"an operation that nobody knows":        {[]*nodepb.NodeDef{node("a", "Mine"), node("b", "NoOp", "^a")}, nil, true},
		"nodes that are missing":                {[]*nodepb.NodeDef{node("a", "NoOp", "^missing", "^", "")}, []*functionpb.FunctionDef{libraryFunction("f", []string{"missing", ""})}, false},
		"a node that waits for itself":          {[]*nodepb.NodeDef{node("a", "Identity", "a", "^a")}, nil, false},
		"nodes that wait for each other":        {[]*nodepb.NodeDef{node("a", "Identity", "b", "^b"), node("b", "Identity", "a", "^a")}, nil, false},
		"a long chain":                          {chain, nil, false},
		"a long chain to an assertion":          {append(chain[:len(chain):len(chain)], node("n100000", "Assert")), nil, true},
		"two nodes of one name":                 {[]*nodepb.NodeDef{node("a", "NoOp"), node("a", "Assert"), node("b", "Identity", "^a")}, nil, true},
		"two nodes of one name, the other way":  {[]*nodepb.NodeDef{node("a", "Assert"), node("a", "NoOp"), node("b", "Identity", "^a")}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := servedGraph(t, tt.nodes, tt.library...).MayFailBesides(); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
