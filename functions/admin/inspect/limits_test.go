package inspect

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	attrpb "github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	graphpb "github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	tensorpb "github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	shapepb "github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	typepb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/proto"
)

// A transform graph of 2 kB whose constants are gigabytes of strings is described with little
// memory, and reported as not executable.
func TestATransformGraphOfLargeConstantsTakesLittleMemory(t *testing.T) {
	shape := &shapepb.TensorShapeProto{Dim: []*shapepb.TensorShapeProto_Dim{{Size: 1 << 22}}}
	join := &nodepb.NodeDef{Name: "y", Op: "StringJoin"}
	nodes := []*nodepb.NodeDef{join, {Name: "x", Op: "Placeholder"}}
	for i := range 20 {
		value := &tensorpb.TensorProto{Dtype: typepb.DataType_DT_STRING, TensorShape: shape, StringVal: [][]byte{[]byte("x")}}
		constant := &nodepb.NodeDef{Name: fmt.Sprint("s", i), Op: "Const", Attr: map[string]*attrpb.AttrValue{"value": {Value: &attrpb.AttrValue_Tensor{Tensor: value}}}}
		nodes, join.Input = append(nodes, constant), append(join.Input, constant.GetName())
	}
	port := func(name string) map[string]*corepb.TensorInfo {
		return map[string]*corepb.TensorInfo{name: {
			Encoding: &corepb.TensorInfo_Name{Name: name + ":0"}, Dtype: typepb.DataType_DT_STRING,
			TensorShape: &shapepb.TensorShapeProto{Dim: []*shapepb.TensorShapeProto_Dim{{Size: -1}}},
		}}
	}
	data, err := proto.Marshal(&corepb.SavedModel{MetaGraphs: []*corepb.MetaGraphDef{{
		GraphDef:     &graphpb.GraphDef{Node: nodes},
		SignatureDef: map[string]*corepb.SignatureDef{"transform_signature": {Inputs: port("x"), Outputs: port("y")}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, transformFolder), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, transformFolder, savedModelFile), data, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Local(dir)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := Inspect(t.Context(), s, Options{})
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	if g := r.TransformGraph; g == nil || g.Executable || !strings.Contains(g.Why, "more than") {
		t.Errorf("report %+v", r.TransformGraph)
	}
	if made := after.TotalAlloc - before.TotalAlloc; made > 2*tryBytes {
		t.Errorf("a graph of %d bytes took %d MiB", len(data), made>>20)
	}
}
