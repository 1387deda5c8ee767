package graph_test

import (
	"archive/zip"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/tf/ops"
)

// Each op is in a graph that tf.Transform made and TensorFlow ran, or has a case in cases.py, or a
// twin of it has.
func TestEveryOpIsComparedWithTensorFlows(t *testing.T) {
	t.Parallel()
	twins := []string{ // other names, and other graph versions, of ops that are compared
		"Add", "Div", "If", "Inv", "LookupTableFind", "LookupTableSize", "PlaceholderWithDefault", "PreventGradient", "Snapshot", "While",
	}
	seen := map[string]bool{}
	for _, line := range strings.Split(casesScript, "\n") {
		if name, ok := strings.CutPrefix(line, `    "`); ok {
			seen[strings.FieldsFunc(name, func(r rune) bool { return r == '"' || r == ' ' })[0]] = true
		}
	}
	graphs, err := filepath.Glob(filepath.Join("..", "transform", "testdata", "graphs", "*.zip"))
	if err != nil || len(graphs) < 40 {
		t.Fatalf("%d graphs: %v", len(graphs), err)
	}
	for _, path := range graphs {
		opsIn(t, path, seen)
	}
	for _, name := range ops.Names() {
		if !seen[name] && !slices.Contains(twins, name) {
			t.Errorf("op %s is in no graph", name)
		}
	}
}

// opsIn marks the ops of a graph's functions.
func opsIn(t *testing.T, path string, seen map[string]bool) {
	t.Helper()
	archive, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	data, err := fs.ReadFile(archive, "transform_fn/saved_model.pb")
	if err != nil {
		t.Fatal(err)
	}
	var model corepb.SavedModel
	if err := proto.Unmarshal(data, &model); err != nil {
		t.Fatal(err)
	}
	for _, f := range model.GetMetaGraphs()[0].GetGraphDef().GetLibrary().GetFunction() {
		for _, n := range f.GetNodeDef() {
			seen[n.GetOp()] = true
		}
	}
}
