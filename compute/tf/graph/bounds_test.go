package graph_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	attrpb "github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	functionpb "github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	graphpb "github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	opdefpb "github.com/wamuir/graft/tensorflow/core/framework/op_def_go_proto"
	tensorpb "github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	shapepb "github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	typepb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/tf/graph"
)

// Graphs in this file are small, and would take hours or all memory were they followed to the
// letter.

func attrs(of map[string]any) map[string]*attrpb.AttrValue {
	made := map[string]*attrpb.AttrValue{}
	for name, v := range of {
		switch v := v.(type) {
		case string:
			made[name] = &attrpb.AttrValue{Value: &attrpb.AttrValue_Func{Func: &attrpb.NameAttrList{Name: v}}}
		case typepb.DataType:
			made[name] = &attrpb.AttrValue{Value: &attrpb.AttrValue_Type{Type: v}}
		case []typepb.DataType:
			made[name] = &attrpb.AttrValue{Value: &attrpb.AttrValue_List{List: &attrpb.AttrValue_ListValue{Type: v}}}
		case *tensorpb.TensorProto:
			made[name] = &attrpb.AttrValue{Value: &attrpb.AttrValue_Tensor{Tensor: v}}
		}
	}
	return made
}

func call(name, function string, inputs ...string) *nodepb.NodeDef {
	return &nodepb.NodeDef{Name: name, Op: "PartitionedCall", Input: inputs, Attr: attrs(map[string]any{"f": function})}
}

var truth = &nodepb.NodeDef{Name: "true", Op: "Const", Attr: attrs(map[string]any{
	"value": &tensorpb.TensorProto{Dtype: typepb.DataType_DT_BOOL, TensorShape: &shapepb.TensorShapeProto{}, BoolVal: []bool{true}},
})}

// ofBool returns a function from a bool x to a bool y, which is the tensor result.
func ofBool(name, result string, nodes ...*nodepb.NodeDef) *functionpb.FunctionDef {
	return &functionpb.FunctionDef{
		Signature: &opdefpb.OpDef{
			Name:      name,
			InputArg:  []*opdefpb.OpDef_ArgDef{{Name: "x", Type: typepb.DataType_DT_BOOL}},
			OutputArg: []*opdefpb.OpDef_ArgDef{{Name: "y", Type: typepb.DataType_DT_BOOL}},
		},
		NodeDef: nodes, Ret: map[string]string{"y": result},
	}
}

// within opens a model whose signature f returns the tensor out, initialized by the node init, and
// returns the error of compiling it.
func within(t *testing.T, limit time.Duration, graph *graphpb.GraphDef, out string, dtype typepb.DataType) error {
	t.Helper()
	data, err := proto.Marshal(&corepb.SavedModel{MetaGraphs: []*corepb.MetaGraphDef{{
		GraphDef: graph,
		CollectionDef: map[string]*corepb.CollectionDef{"saved_model_main_op": {
			Kind: &corepb.CollectionDef_NodeList_{NodeList: &corepb.CollectionDef_NodeList{Value: []string{"init"}}},
		}},
		SignatureDef: map[string]*corepb.SignatureDef{"f": {
			Outputs: map[string]*corepb.TensorInfo{"y": {Encoding: &corepb.TensorInfo_Name{Name: out}, Dtype: dtype}},
		}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- compiled(t.TempDir(), data) }()
	select {
	case err = <-done:
	case <-time.After(limit):
		t.Fatalf("not done after %v", limit)
	}
	return err
}

func compiled(dir string, data []byte) error {
	m, err := graph.Parse(dir, data)
	if err != nil {
		return err
	}
	s, err := m.Start(context.Background(), graph.Limits{})
	if err != nil {
		return err
	}
	signatures, err := m.Signatures()
	if err != nil {
		return err
	}
	_, err = s.Compile(context.Background(), signatures[0], "output")
	return err
}

// soon is long enough for work of milliseconds, also on a busy machine and with the race detector.
const soon = 2 * time.Minute

func TestFunctionsThatCallEachOtherTwiceAreLookedAtOnce(t *testing.T) {
	t.Parallel()
	library := &functionpb.FunctionDefLibrary{Function: []*functionpb.FunctionDef{ofBool("f60", "x")}}
	for i := range 60 {
		next := fmt.Sprintf("f%d", i+1)
		library.Function = append(library.Function, ofBool(fmt.Sprintf("f%d", i), "x", call("a", next, "x"), call("b", next, "x")))
	}
	graph := &graphpb.GraphDef{Library: library, Node: []*nodepb.NodeDef{truth, call("init", "f0", "true")}}
	if err := within(t, soon, graph, "true:0", typepb.DataType_DT_BOOL); err != nil {
		t.Error(err)
	}
}

func TestALargeFunctionMayBeCalledOften(t *testing.T) {
	t.Parallel()
	const many = 20000
	var unused, calls []*nodepb.NodeDef
	for i := range many {
		unused = append(unused, &nodepb.NodeDef{Name: fmt.Sprint("unused", i), Op: "NoOp"})
	}
	last := "true"
	for i := range many {
		name := fmt.Sprint("call", i)
		calls = append(calls, call(name, "f", last))
		last = name
	}
	graph := &graphpb.GraphDef{
		Library: &functionpb.FunctionDefLibrary{Function: []*functionpb.FunctionDef{ofBool("f", "x", unused...)}},
		Node:    append(calls, truth),
	}
	if err := within(t, soon, graph, last+":0", typepb.DataType_DT_BOOL); err != nil {
		t.Error(err)
	}
}

func TestALoopInABranchIsNotRunBeforeItIsAsked(t *testing.T) {
	t.Parallel()
	same := []typepb.DataType{typepb.DataType_DT_BOOL}
	loop := &nodepb.NodeDef{Name: "loop", Op: "While", Input: []string{"x"}, Attr: attrs(map[string]any{"cond": "same", "body": "body", "T": same})}
	inner := &nodepb.NodeDef{Name: "inner", Op: "While", Input: []string{"x"}, Attr: attrs(map[string]any{"cond": "same", "body": "same", "T": same})}
	graph := &graphpb.GraphDef{
		Library: &functionpb.FunctionDefLibrary{Function: []*functionpb.FunctionDef{
			ofBool("same", "x"), ofBool("body", "inner:output:0", inner), ofBool("loops", "loop:output:0", loop), ofBool("calls", "c:output:0", call("c", "loops", "x")),
		}},
		Node: []*nodepb.NodeDef{truth, {
			Name: "if", Op: "If", Input: []string{"true", "true"},
			Attr: attrs(map[string]any{"then_branch": "calls", "else_branch": "same", "Tout": same}),
		}},
	}
	if err := within(t, soon, graph, "if:0", typepb.DataType_DT_BOOL); err != nil {
		t.Error(err)
	}
}

func TestConstantsOfFewBytesDoNotTakeAllMemory(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"Const", "Fill"} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			err := within(t, soon, grown(op), "all:0", typepb.DataType_DT_FLOAT)
			if err == nil || !strings.Contains(err.Error(), "more than") {
				t.Errorf("error %v, want one of the size of all constants", err)
			}
		})
	}
}

// grown returns a sum of many tensors that an op makes of a few bytes each.
func grown(op string) *graphpb.GraphDef {
	const side = 1 << 22
	n, count := int64(side), 32
	if op == "Fill" {
		n, count = 1<<16, 2000
	}
	shape := &shapepb.TensorShapeProto{Dim: []*shapepb.TensorShapeProto_Dim{{Size: n}}}
	value := &tensorpb.TensorProto{Dtype: typepb.DataType_DT_FLOAT, TensorShape: &shapepb.TensorShapeProto{}, FloatVal: []float32{1}}
	dims := &tensorpb.TensorProto{
		Dtype: typepb.DataType_DT_INT32, IntVal: []int32{int32(n)},
		TensorShape: &shapepb.TensorShapeProto{Dim: []*shapepb.TensorShapeProto_Dim{{Size: 1}}},
	}
	graph := &graphpb.GraphDef{Node: []*nodepb.NodeDef{
		{Name: "one", Op: "Const", Attr: attrs(map[string]any{"value": value})}, {Name: "dims", Op: "Const", Attr: attrs(map[string]any{"value": dims})},
	}}
	all := &nodepb.NodeDef{Name: "all", Op: "AddN"}
	for i := range count {
		node := &nodepb.NodeDef{Name: fmt.Sprint("x", i), Op: op}
		if op == "Fill" {
			node.Input = []string{"dims", "one"}
		} else {
			node.Attr = attrs(map[string]any{"value": &tensorpb.TensorProto{Dtype: typepb.DataType_DT_FLOAT, TensorShape: shape, FloatVal: []float32{1}}})
		}
		graph.Node, all.Input = append(graph.Node, node), append(all.Input, node.GetName())
	}
	graph.Node = append(graph.Node, all)
	return graph
}
