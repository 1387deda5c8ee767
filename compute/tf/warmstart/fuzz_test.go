package warmstart

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
	"github.com/stoker-ml/stoker/compute/tf/tensorbundle"
)

// FuzzModel looks for a SavedModel that makes the tracer fail, or take much longer than it is
// large.
func FuzzModel(f *testing.F) {
	dir := small(f) // the engine takes long over large seeds
	model, modelErr := os.ReadFile(filepath.Join(dir, "saved_model.pb"))
	s, openErr := Open(dir)
	if err := errors.Join(modelErr, openErr); err != nil {
		f.Fatal(err)
	}
	f.Add(model)
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseModel(t.TempDir(), data)
		if err != nil {
			return
		}
		odd := append(slices.Clone(s.Tensors),
			Weight{Key: "odd", Shape: []int{-1, -1}, object: 1}, Weight{Key: "large", Shape: []int{1 << 40, 1}, object: 2})
		for key, rows := range m.rows(odd) {
			if !slices.ContainsFunc(s.Tensors, func(t Weight) bool { return t.Key == key }) || !rows.unique() {
				t.Errorf("rows of %q: %q", key, rows)
			}
		}
		if _, err := variableNames(m.graph); err != nil {
			return
		}
	})
}

// FuzzObjects searches for an object graph in which the walk doesn't end, or visits an object
// twice.
func FuzzObjects(f *testing.F) {
	b, err := tensorbundle.Open(filepath.Join(small(f), "variables", "variables"))
	if err != nil {
		f.Fatal(err)
	}
	graph, objectsErr := b.Objects()
	text, protoErr := proto.Marshal(graph)
	if err := errors.Join(objectsErr, protoErr); err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	variables := b.Variables()
	f.Fuzz(func(t *testing.T, text []byte) {
		graph := new(corepb.TrackableObjectGraph)
		if proto.Unmarshal(text, graph) != nil {
			return
		}
		attributes := 0
		for _, node := range graph.GetNodes() {
			attributes += len(node.GetAttributes())
		}
		if list := walkObjects(graph, variables); len(list) > attributes {
			t.Errorf("%d weights of %d values", len(list), attributes)
		}
	})
}

// small returns a model with one vocabulary and one layer.
func small(f *testing.F) string {
	f.Helper()
	b := nn.NewBuilder(nn.NewRand(1))
	ids := b.Vocabulary("v", b.Input("a", nn.String, 1), []string{"x", "y"})
	b.Output("o", b.Dense("d", b.Embedding("e", ids, 3, 2), 1, ""))
	g, err := b.Graph()
	dir := filepath.Join(f.TempDir(), "model")
	if err == nil {
		err = savedmodel.Write(dir, savedmodel.Model{Graph: g, Spec: example.Spec{{Name: "a", Kind: example.Bytes}}})
	}
	if err != nil {
		f.Fatal(err)
	}
	return dir
}

func FuzzState(f *testing.F) {
	f.Add("model_checkpoint_path: \"model.ckpt-7\"\nall_model_checkpoint_paths: \"model.ckpt-7\"\n")
	f.Add("model_checkpoint_path: \"/tmp/\\145\"")
	f.Fuzz(func(t *testing.T, state string) {
		if newest, err := newestOf(state); err == nil && (newest == "" || !strings.Contains(state, "model_checkpoint_path")) {
			t.Errorf("%q from %q", newest, state)
		}
	})
}
