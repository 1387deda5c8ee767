package savedmodel

import (
	"os"
	"path/filepath"
	"testing"

	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"

	"github.com/stoker-ml/stoker/compute/nn"
)

func TestWriteRefusesTransformGraphs(t *testing.T) {
	t.Parallel()
	none := func(*corepb.MetaGraphDef) {}
	object := func(g *corepb.MetaGraphDef, kind *corepb.SavedObject) {
		g.ObjectGraphDef.Nodes[1] = kind
	}
	tests := []struct {
		name   string
		graph  func(*corepb.MetaGraphDef)
		inputs func([]nn.Input)
		want   string
	}{
		{"that lack a feature", none, func(in []nn.Input) { in[0].Name = "wings_xf" }, `input "wings_xf": no such transformed feature`},
		{"of another width", none, func(in []nn.Input) { in[0].Width = 2 }, `is 2 wide`},
		{"of another type", none, func(in []nn.Input) { in[0].Kind = nn.Int64 }, "takes int64, the transformed feature is DT_FLOAT"},
		{"without an object graph", func(g *corepb.MetaGraphDef) { g.ObjectGraphDef = nil }, nil, `no signature "transform_signature"`},
		{"without a transform function", func(g *corepb.MetaGraphDef) { g.ObjectGraphDef.Nodes[0].Children = nil }, nil, "no transform_fn"},
		{"with variables", func(g *corepb.MetaGraphDef) {
			object(g, &corepb.SavedObject{Kind: &corepb.SavedObject_Variable{Variable: &corepb.SavedVariable{Name: "mean"}}})
		}, nil, `variable "mean" has no value in the checkpoint`},
		{"with a feature missing from the signature", func(g *corepb.MetaGraphDef) {
			for _, f := range g.ObjectGraphDef.ConcreteFunctions {
				arguments := f.GetCanonicalizedInputSignature().GetTupleValue().GetValues()[0]
				if values := arguments.GetTupleValue().GetValues(); len(values) > 0 {
					delete(values[0].GetDictValue().GetFields(), "body_mass_g")
				}
			}
		}, nil, "function takes 13 tensors, its 4 features and 8 captures are 12"},
		{"with a node missing", func(g *corepb.MetaGraphDef) { g.GraphDef.Node = g.GraphDef.Node[1:] }, nil, "graph has no node"},
		{"with an asset that nothing takes", func(g *corepb.MetaGraphDef) {
			g.AssetFileDef = []*corepb.AssetFileDef{{Filename: "words"}}
		}, nil, "graph has no node \"\""},
		{"with an asset outside", func(g *corepb.MetaGraphDef) {
			info := &corepb.TensorInfo{Encoding: &corepb.TensorInfo_Name{Name: "Const:0"}}
			g.AssetFileDef = []*corepb.AssetFileDef{{Filename: "../../secret", TensorInfo: info}}
		}, nil, "outside the folder of assets"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := penguin(t)
			m.TransformGraph = editedGraph(t, m.TransformGraph, tt.graph)
			if tt.inputs != nil {
				tt.inputs(m.Graph.Inputs)
				m.Graph.Nodes = m.Graph.Nodes[:0]
				m.Graph.Outputs = []nn.Output{{Name: "x", Node: m.Graph.Inputs[1].Name, Width: 1}}
			}
			dir := filepath.Join(t.TempDir(), "model")
			wantError(t, Write(dir, m), tt.want)
			if _, err := os.Stat(dir); err == nil {
				t.Error("a refused model left a folder")
			}
		})
	}
}

// editedGraph copies a TransformGraph artifact and changes its graph.
func editedGraph(t *testing.T, from string, change func(*corepb.MetaGraphDef)) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "transform_graph")
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	model, err := readModel(filepath.Join(to, "transform_fn"))
	if err != nil {
		t.Fatal(err)
	}
	change(model.GetMetaGraphs()[0])
	data, err := marshal(model)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(to, "transform_fn", "saved_model.pb"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	return to
}

func TestMissingTransformGraphIsNamed(t *testing.T) {
	t.Parallel()
	m := penguin(t)
	m.TransformGraph = filepath.Join(t.TempDir(), "nothing")
	wantError(t, Write(filepath.Join(t.TempDir(), "model"), m), filepath.Join("nothing", "transform_fn", "saved_model.pb"))
}
