package skew_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	shapepb "github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/tf/skew"
)

// changed returns the penguins' model of TFX, with its graph changed.
func changed(t *testing.T, change func(*corepb.MetaGraphDef)) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "model")
	if err := os.CopyFS(to, os.DirFS(penguinModel)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(to, "saved_model.pb")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var model corepb.SavedModel
	if err := proto.Unmarshal(data, &model); err != nil {
		t.Fatal(err)
	}
	change(model.GetMetaGraphs()[0])
	if data, err = proto.Marshal(&model); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return to
}

// nodes calls change with each node of a graph and its functions.
func nodes(g *corepb.MetaGraphDef, change func(*nodepb.NodeDef)) {
	for _, n := range g.GetGraphDef().GetNode() {
		change(n)
	}
	for _, f := range g.GetGraphDef().GetLibrary().GetFunction() {
		for _, n := range f.GetNodeDef() {
			change(n)
		}
	}
}

func withoutRaw(t *testing.T, change func(*corepb.MetaGraphDef)) skew.Question {
	t.Helper()
	return skew.Question{
		Model: changed(t, change), Transformed: split("transformed_examples"), TransformGraph: penguinGraph,
		Rows: skew.DefaultRows, Tolerance: skew.DefaultTolerance,
	}
}

// needsLabel has the model serve what needs the label: the features that its transform graph makes.
func needsLabel(g *corepb.MetaGraphDef) {
	g.SignatureDef["serving_default"] = g.GetSignatureDef()["transform_features"]
	delete(g.SignatureDef, "transform_features")
}

func TestAModelIsAskedForSyntheticRowsWhereThereAreNoRawOnes(t *testing.T) {
	t.Parallel()
	r := ask(t, withoutRaw(t, func(*corepb.MetaGraphDef) {}))
	if r.Asked == 0 || r.Rows != 0 || r.Raw || !strings.Contains(r.Note, "synthetic raw rows, made of the transform graph's raw schema; its answers are not compared") ||
		strings.Contains(r.Note, "not checked") || !strings.HasPrefix(r.NotCompared, "there are no raw rows") || len(r.By) != 1 {
		t.Errorf("report %+v", r)
	}
}

func TestAModelThatNeedsItsLabelIsRefusedWithoutRawRows(t *testing.T) {
	t.Parallel()
	const want = `has an error for synthetic rows without the label "species"`
	q := withoutRaw(t, needsLabel)
	q.Labels = []string{"species"}
	if r, err := skew.Check(t.Context(), q); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("report %+v, error %v, want %s", r, err, want)
	}
	// As the module calls it, the label is the transformed one: the transform graph shows which raw
	// feature it is made of.
	q = withoutRaw(t, needsLabel)
	q.Memory = filepath.Join(t.TempDir(), "memory")
	if err := os.WriteFile(q.Memory, []byte(`{"labels": ["species_xf"], "note": "no model was seen"}`+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if r, err := skew.Check(t.Context(), q); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("report %+v, error %v, want %s", r, err, want)
	}
}

func TestAModelThatAlwaysHasAnErrorIsRefusedWithoutRawRows(t *testing.T) {
	t.Parallel()
	q := withoutRaw(t, func(g *corepb.MetaGraphDef) {
		nodes(g, func(n *nodepb.NodeDef) {
			for _, shape := range n.GetAttr()["dense_shapes"].GetList().GetShape() {
				shape.Dim = []*shapepb.TensorShapeProto_Dim{{Size: 2}}
			}
		})
	})
	const want = "has an error for each of "
	if r, err := skew.Check(t.Context(), q); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("report %+v, error %v, want %s", r, err, want)
	}
}

// Requests may have features that the transform graph's schema lacks: an error for rows without
// them says nothing of the model.
func TestAModelOfOtherRawFeaturesIsNotRefused(t *testing.T) {
	t.Parallel()
	q := withoutRaw(t, func(g *corepb.MetaGraphDef) {
		nodes(g, func(n *nodepb.NodeDef) {
			texts := n.GetAttr()["value"].GetTensor().GetStringVal()
			for i, text := range texts {
				if string(text) == "body_mass_g" {
					texts[i] = []byte("body_mass_kg")
				}
			}
		})
	})
	r := ask(t, q)
	if r.Asked != 0 || !strings.Contains(r.NotCompared, "it has an error for each synthetic row, perhaps because of the values") {
		t.Errorf("report %+v", r)
	}
}

func TestWithoutARawSchemaNothingIsAsked(t *testing.T) {
	t.Parallel()
	q := withoutRaw(t, func(*corepb.MetaGraphDef) {})
	for graph, want := range map[string]string{"": "there is no transform graph", t.TempDir(): "raw schema of the transform graph: "} {
		q.TransformGraph = graph
		if r := ask(t, q); r.Asked != 0 || !strings.Contains(r.NotCompared, want) || !strings.HasPrefix(r.Note, "not checked: ") {
			t.Errorf("report %+v, want not compared: %s", r, want)
		}
	}
}
