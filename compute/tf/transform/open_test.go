package transform

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/tf/graph"
)

var (
	penguinGraph = filepath.Join("..", "savedmodel", "testdata", "penguin", "transform_graph")
	taxiGraph    = filepath.Join("..", "savedmodel", "testdata", "taxi", "transform_graph")
)

// edited returns a copy of an artifact whose graph was changed.
func edited(t *testing.T, dir string, change func(*corepb.MetaGraphDef)) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
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
	change(model.GetMetaGraphs()[0])
	if data, err = proto.Marshal(&model); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return to
}

// nodes visits the nodes of all functions.
func nodes(meta *corepb.MetaGraphDef, visit func(*nodepb.NodeDef)) {
	for _, f := range meta.GetGraphDef().GetLibrary().GetFunction() {
		for _, n := range f.GetNodeDef() {
			visit(n)
		}
	}
}

func rename(op, to string) func(*corepb.MetaGraphDef) {
	return func(meta *corepb.MetaGraphDef) {
		nodes(meta, func(n *nodepb.NodeDef) {
			if n.GetOp() == op {
				n.Op = to
			}
		})
	}
}

func TestWhatCanNotBeExecutedIsNamedBeforeAnyDataAreThere(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, graph string
		change      func(*corepb.MetaGraphDef)
		want        string
	}{
		{"unknown op", penguinGraph, rename("Sqrt", "Sqroot"),
			`transformed feature "body_mass_g_xf": node scale_to_z_score_3/Sqrt: op Sqroot is not known`},
		{"op on a type it isn't for", penguinGraph, rename("Sqrt", "StringLower"), "op StringLower: input 0 is DT_FLOAT"},
		{"op with too few inputs", penguinGraph, rename("Sqrt", "AddV2"), "op AddV2: has 1 inputs, wants 2"},
		{"function that calls itself", penguinGraph, func(meta *corepb.MetaGraphDef) {
			for _, f := range meta.GetGraphDef().GetLibrary().GetFunction() {
				if name := f.GetSignature().GetName(); strings.Contains(name, "pruned") {
					for i, n := range f.GetNodeDef() {
						if n.GetOp() == "Sqrt" {
							f.NodeDef[i].Input = []string{n.GetName() + ":y:0"}
						}
					}
				}
			}
		}, "needs its own output"},
		{"no function", penguinGraph, func(meta *corepb.MetaGraphDef) { meta.GetGraphDef().Library = nil }, "isn't in the library"},
		{"no objects", penguinGraph, func(meta *corepb.MetaGraphDef) { meta.ObjectGraphDef = nil }, "no signature \"transform_signature\""},
		{"asset outside", taxiGraph, func(meta *corepb.MetaGraphDef) {
			for _, a := range meta.GetAssetFileDef() {
				a.Filename = "../../../etc/passwd"
			}
		}, "is outside of its folder"},
		{"asset missing", taxiGraph, func(meta *corepb.MetaGraphDef) {
			for _, a := range meta.GetAssetFileDef() {
				a.Filename = "absent"
			}
		}, "absent: no such file"},
		{"table filled by what isn't known", taxiGraph, rename("InitializeTableFromTextFileV2", "InitializeTableByMagic"),
			"in no way that is known"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := Open(edited(t, tt.graph, tt.change))
			if !errors.Is(err, example.ErrInput) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want an ErrInput with %q", err, tt.want)
			}
		})
	}
}

func TestDamagedVocabularyIsNamedWithItsLine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ content, want string }{
		{"a\n\nb\n", "line 2 is empty"},
		{"a\nb\na\n", `key "a" has values 0 and 2`},
		{"", "is empty"},
	} {
		dir := edited(t, taxiGraph, func(*corepb.MetaGraphDef) {})
		path := filepath.Join(dir, "transform_fn", "assets", "vocab_compute_and_apply_vocabulary_vocabulary")
		if err := os.WriteFile(path, []byte(tt.content), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Open(dir)
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), filepath.Base(path)) {
			t.Errorf("%q: error %v, want one with %q", tt.content, err, tt.want)
		}
	}
}

// Without the raw schema nothing shows which columns have the positions of a sparse feature's
// values.
func TestSparseFeatureWithoutASchemaIsRefused(t *testing.T) {
	t.Parallel()
	dir := unpack(t, "sparse_feature")
	if err := os.Remove(filepath.Join(dir, "metadata", "schema.pbtxt")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), `raw feature "sp": is sparse of shape [-1 8]`) {
		t.Errorf("error %v doesn't name the feature", err)
	}
}

func TestColumnsThatAreNeededAreAskedForByName(t *testing.T) {
	t.Parallel()
	g, err := Open(penguinGraph)
	if err != nil {
		t.Fatal(err)
	}
	var b example.Builder
	record := b.Float("body_mass_g", 0.5).Float("culmen_depth_mm", 0.1).Float("flipper_length_mm", 0.2).Int64("species", 1).Build()
	raw, err := example.Parse(g.Raw().Without("culmen_length_mm"), record)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Run(raw, nil); !errors.Is(err, example.ErrInput) || !strings.Contains(err.Error(), `raw feature "culmen_length_mm": the batch has no column`) {
		t.Errorf("error %v doesn't name the column", err)
	}
}

func TestGraphRunsInManyGoroutinesAtOnce(t *testing.T) {
	t.Parallel()
	g, want := openGolden(t, "everything")
	rows := goldenRows(t)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() { compareGolden(t, "everything", g, rows, want) })
	}
	group.Wait()
}

func FuzzOpen(f *testing.F) {
	for _, dir := range []string{penguinGraph, taxiGraph} {
		data, err := os.ReadFile(filepath.Join(dir, "transform_fn", "saved_model.pb"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, name := range []string{"bag_of_words", "ragged_reduced", "vocabulary_in_records", "tables_in_the_graph", "shapes"} {
		f.Add(unpacked(f, graphs, name, "transform_fn/saved_model.pb"))
	}
	rows := goldenRows(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := graph.Parse(filepath.Join(taxiGraph, "transform_fn"), data)
		if err != nil {
			return
		}
		g, err := compile(t.Context(), m, graph.Limits{})
		if err != nil {
			return
		}
		raw, err := example.Parse(g.Raw(), rows[:8]...)
		if err != nil {
			return
		}
		g.Run(raw, nil) // an error is fine, a panic isn't
	})
}
