package transform_test

import (
	"context"
	"errors"
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

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/tf/graph"
	"github.com/stoker-ml/stoker/compute/tf/transform"
)

func shapeOf(dims ...int64) *shapepb.TensorShapeProto {
	s := &shapepb.TensorShapeProto{}
	for _, d := range dims {
		s.Dim = append(s.Dim, &shapepb.TensorShapeProto_Dim{Size: d})
	}
	return s
}

// transformGraph returns an artifact whose graph, in TensorFlow 1's form, makes the strings y of
// the strings x.
func transformGraph(t *testing.T, nodes ...*nodepb.NodeDef) string {
	t.Helper()
	port := func(name string) *corepb.TensorInfo {
		return &corepb.TensorInfo{Encoding: &corepb.TensorInfo_Name{Name: name}, Dtype: typepb.DataType_DT_STRING, TensorShape: shapeOf(-1)}
	}
	data, err := proto.Marshal(&corepb.SavedModel{MetaGraphs: []*corepb.MetaGraphDef{{
		GraphDef: &graphpb.GraphDef{Node: append(nodes, &nodepb.NodeDef{Name: "x", Op: "Placeholder"})},
		SignatureDef: map[string]*corepb.SignatureDef{"transform_signature": {
			Inputs: map[string]*corepb.TensorInfo{"x": port("x:0")}, Outputs: map[string]*corepb.TensorInfo{"y": port("y:0")},
		}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	folder := filepath.Join(dir, "transform_fn")
	if err := errors.Join(os.Mkdir(folder, 0o700), os.WriteFile(filepath.Join(folder, "saved_model.pb"), data, 0o600)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// constantStrings returns a node of many strings that are one in the file.
func constantStrings(name string, n int64) *nodepb.NodeDef {
	return &nodepb.NodeDef{Name: name, Op: "Const", Attr: map[string]*attrpb.AttrValue{"value": {Value: &attrpb.AttrValue_Tensor{
		Tensor: &tensorpb.TensorProto{Dtype: typepb.DataType_DT_STRING, TensorShape: shapeOf(n), StringVal: [][]byte{[]byte("x")}},
	}}}}
}

// A graph of 1 kB whose constants are gigabytes of strings ends while it is opened, with memory of
// a few hundred megabytes.
func TestConstantsOfATransformGraphAreBounded(t *testing.T) {
	join := &nodepb.NodeDef{Name: "y", Op: "StringJoin"}
	nodes := []*nodepb.NodeDef{join}
	for i := range 20 {
		name := fmt.Sprint("s", i)
		nodes, join.Input = append(nodes, constantStrings(name, 1<<22)), append(join.Input, name)
	}
	dir := transformGraph(t, nodes...)
	for name, limits := range map[string]graph.Limits{"by default": {}, "within 128 MiB": {Bytes: 128 << 20}} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := transform.OpenWithin(t.Context(), dir, limits)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, example.ErrInput) || !strings.Contains(err.Error(), "more than") || !strings.Contains(err.Error(), "node s") {
			t.Errorf("%s: error %v", name, err)
		}
		if made := after.TotalAlloc - before.TotalAlloc; made > 512<<20 {
			t.Errorf("%s: %d MiB were taken", name, made>>20)
		}
	}
}

// A graph that makes gigabytes of a row fails in the batch of that row; the end of a context is not
// an error of the data.
func TestBatchesOfATransformGraphAreBounded(t *testing.T) {
	t.Parallel()
	last, nodes := "x", []*nodepb.NodeDef(nil)
	for i := range 40 {
		n := &nodepb.NodeDef{Name: fmt.Sprint("s", i), Op: "StringJoin", Input: []string{last, last}}
		nodes, last = append(nodes, n), n.GetName()
	}
	nodes = append(nodes, &nodepb.NodeDef{Name: "y", Op: "Identity", Input: []string{last}})
	g, err := transform.OpenWithin(t.Context(), transformGraph(t, nodes...), graph.Limits{Bytes: 32 << 20})
	if err != nil {
		t.Fatal(err)
	}
	var b example.Builder
	raw, err := example.Parse(g.Raw(), b.String("x", "text").Build())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Run(raw, nil); !errors.Is(err, graph.ErrLimit) || !errors.Is(err, example.ErrInput) || !strings.Contains(err.Error(), "(StringJoin)") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("the job was cancelled")
	cancel(stopped)
	if _, err := g.RunContext(ctx, raw, nil); !errors.Is(err, stopped) || errors.Is(err, example.ErrInput) {
		t.Errorf("error %v", err)
	}
}

// The outputs are written to a batch: strings that share their bytes in the graph don't share them
// there.
func TestCopiesOfOutputsAreBounded(t *testing.T) {
	t.Parallel()
	number := func(name string, dims []int64, values ...int32) *nodepb.NodeDef {
		return &nodepb.NodeDef{Name: name, Op: "Const", Attr: map[string]*attrpb.AttrValue{"value": {Value: &attrpb.AttrValue_Tensor{
			Tensor: &tensorpb.TensorProto{Dtype: typepb.DataType_DT_INT32, TensorShape: shapeOf(dims...), IntVal: values},
		}}}}
	}
	dir := transformGraph(t, number("by", []int64{1}, 1<<16), &nodepb.NodeDef{Name: "y", Op: "Tile", Input: []string{"x", "by"}})
	g, err := transform.OpenWithin(t.Context(), dir, graph.Limits{Bytes: 32 << 20})
	if err != nil {
		t.Fatal(err)
	}
	var b example.Builder
	raw, err := example.Parse(g.Raw(), b.String("x", strings.Repeat("x", 1<<16)).Build())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Run(raw, nil); !errors.Is(err, graph.ErrLimit) || !strings.Contains(err.Error(), `transformed feature "y"`) {
		t.Errorf("error %v", err)
	}
}
