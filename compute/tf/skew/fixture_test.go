package skew_test

import (
	"os"
	"path/filepath"
	"testing"

	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/export"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
	"github.com/stoker-ml/stoker/compute/tf/skew"
	"github.com/stoker-ml/stoker/compute/train"
)

var (
	penguinGraph = filepath.Join("..", "savedmodel", "testdata", "penguin", "transform_graph")
	// A model that TFX's Trainer wrote.
	penguinModel = filepath.Join("..", "savedmodel", "testdata", "penguin", "model")
)

// split returns the files of one of the penguins' data sets.
func split(set string) []string {
	return []string{filepath.Join("..", "..", "data", "example", "testdata", "penguin", set, "Split-eval", "*")}
}

// measures are the features that the model learns from.
var measures = []string{"body_mass_g_xf", "culmen_depth_mm_xf", "culmen_length_mm_xf", "flipper_length_mm_xf"}

// net returns a small model of the penguins. inputs are the features it takes.
func net(t *testing.T, inputs ...string) *nn.Graph {
	t.Helper()
	b := nn.NewBuilder(nn.NewRand(7))
	var columns []nn.Ref
	for _, name := range inputs {
		if name == "species_xf" {
			columns = append(columns, b.Cast("species", b.Input(name, nn.Int64, 1)))
		} else {
			columns = append(columns, b.Input(name, nn.Float32, 1))
		}
	}
	hidden := b.Dense("hidden", b.Concat("features", columns...), 8, nn.OpRelu)
	b.Output("logits", b.Dense("logits", hidden, 3, ""))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// trained is a model in memory and its files, which may differ.
type trained struct {
	inMemory, inFiles *nn.Graph
	graph             string // the transform graph in the files
}

// question writes the model and what it said of transformed rows, and asks about all of it.
func (m trained) question(t *testing.T) skew.Question {
	t.Helper()
	dir := t.TempDir()
	q := skew.Question{
		Model: filepath.Join(dir, "model"), Raw: split("examples"), Transformed: split("transformed_examples"),
		Predictions: filepath.Join(dir, "predictions"), Labels: []string{"species"},
		Rows: skew.DefaultRows, Tolerance: skew.DefaultTolerance,
	}
	if err := savedmodel.Write(q.Model, savedmodel.Model{Graph: m.inFiles, TransformGraph: m.graph, Labels: []string{"species"}}); err != nil {
		t.Fatal(err)
	}
	schema, err := example.ReadSchema(filepath.Join(penguinGraph, "transformed_metadata", "schema.pbtxt"))
	if err != nil {
		t.Fatal(err)
	}
	spec, err := schema.Spec()
	if err != nil {
		t.Fatal(err)
	}
	r, err := example.Open(example.Options{Patterns: q.Transformed, Spec: spec, BatchSize: 32, Epochs: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rows := train.FromExamples(r, train.Feed{Inputs: m.inMemory.Inputs, Label: train.Label{Feature: "species_xf", Classes: 3}})
	if err := export.Predict(t.Context(), q.Predictions, m.inMemory, rows, q.Rows); err != nil {
		t.Fatal(err)
	}
	return q
}

// shifted returns the penguins' transform graph with other means: one that was made of other data.
func shifted(t *testing.T) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "transform_graph")
	if err := os.CopyFS(to, os.DirFS(penguinGraph)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(to, "transform_fn", "saved_model.pb")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var model corepb.SavedModel
	if err := proto.Unmarshal(data, &model); err != nil {
		t.Fatal(err)
	}
	changed := 0
	for _, n := range model.GetMetaGraphs()[0].GetGraphDef().GetNode() {
		if v := n.GetAttr()["value"].GetTensor(); len(v.GetFloatVal()) == 1 {
			v.FloatVal[0] *= 1.01
			changed++
		}
	}
	if changed == 0 {
		t.Fatal("the graph has no constants to change")
	}
	if data, err = proto.Marshal(&model); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return to
}
