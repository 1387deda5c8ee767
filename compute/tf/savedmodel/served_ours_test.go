package savedmodel

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/graph"
	"github.com/stoker-ml/stoker/compute/tf/tensor"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

// tensorOf returns a value as a tensor of [rows, width].
func tensorOf(t *testing.T, v nn.Value) tensor.Tensor {
	t.Helper()
	shape := []int{(len(v.Floats) + len(v.Ints) + len(v.Strings)) / v.Width, v.Width}
	switch v.Kind {
	case nn.Int64:
		return denseOf(t, shape, v.Ints)
	case nn.String:
		var list []string
		for _, s := range v.Strings {
			list = append(list, string(s))
		}
		return denseOf(t, shape, list)
	}
	return denseOf(t, shape, v.Floats)
}

// answered returns the numbers of outputs.
func answered(t *testing.T, got map[string]tensor.Tensor) outputs {
	t.Helper()
	list := outputs{}
	for name, tensor := range got {
		for _, v := range floatsOf(t, tensor) {
			list[name] = append(list[name], tftest.Number(v))
		}
	}
	return list
}

func TestEveryOpThatWeWriteIsAskedInGo(t *testing.T) {
	t.Parallel()
	for name, node := range opCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inputs := opInputs()
			m := opModel(t, node, inputs)
			tensors := map[string]tensor.Tensor{}
			for _, in := range m.Graph.Inputs {
				tensors[in.Name] = tensorOf(t, inputs[in.Name])
			}
			got, err := openServed(t, writeTemp(t, m)).Run("predict_tensors", tensors)
			if err != nil {
				t.Fatal(err)
			}
			near(t, "predict_tensors", answered(t, got), evaluated(t, m.Graph, inputs))
		})
	}
}

func TestModelsThatWeWriteAreAskedInGo(t *testing.T) {
	t.Parallel()
	rows, inputs := towerRows(50)
	s := openServed(t, writeTemp(t, tower()))
	want := evaluated(t, tower().Graph, inputs)
	near(t, "serving_default", answered(t, askExamples(t, s, "serving_default", serialized(t, rows)...)), want)
	tensors := map[string]tensor.Tensor{}
	for name, v := range inputs {
		tensors[Keyword(name)] = tensorOf(t, v)
	}
	got, err := s.Run("predict_tensors", tensors)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "predict_tensors", answered(t, got), want)
}

// The penguin model written again, with its transform graph carried over, answers as the one that
// TFX wrote.
func TestModelWithATransformGraphIsAskedInGo(t *testing.T) {
	t.Parallel()
	ours, theirs := openServed(t, writeTemp(t, penguin(t))), openServed(t, penguinModel)
	for _, g := range readGolden(t) {
		for _, signature := range []string{"serving_default", "transform_features"} {
			got, want := askExamples(t, ours, signature, g.Example), askExamples(t, theirs, signature, g.Example)
			if !slices.Equal(slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want))) {
				t.Fatalf("%s gives %v, want %v", signature, got, want)
			}
			for name := range want {
				a, b := floatsOf(t, got[name]), floatsOf(t, want[name])
				if !slices.EqualFunc(a, b, func(x, y float64) bool { return x == y || x != x && y != y }) {
					t.Errorf("%s %s is %v, want %v", signature, name, a, b)
				}
			}
		}
	}
}

// renamedOp returns a copy of the penguin model in which a node of a function has another op.
func renamedOp(t *testing.T, from, to string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(penguinModel)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "saved_model.pb")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var model corepb.SavedModel
	if err := proto.Unmarshal(data, &model); err != nil {
		t.Fatal(err)
	}
	eachNode(&model, func(n *nodepb.NodeDef) {
		if n.GetOp() == from {
			n.Op = to
		}
	})
	if data, err = proto.Marshal(&model); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func eachNode(model *corepb.SavedModel, visit func(*nodepb.NodeDef)) {
	for _, f := range model.GetMetaGraphs()[0].GetGraphDef().GetLibrary().GetFunction() {
		for _, n := range f.GetNodeDef() {
			visit(n)
		}
	}
}

// Any model can be described; ops that can't be executed are an error at execution.
func TestAnOpThatIsNotKnownIsNamedWithItsNodeAndTheOutput(t *testing.T) {
	t.Parallel()
	s := openServed(t, renamedOp(t, "Relu", "Reluctant"))
	if len(s.Signatures()) != 2 {
		t.Errorf("signatures %v", s.Signatures())
	}
	err := s.Compile("serving_default")
	want := `output "outputs": node functional_1_1/dense_4_1/Relu: op Reluctant is not known`
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
	if err := s.Compile("transform_features"); err != nil {
		t.Errorf("the other signature isn't executed either: %v", err)
	}
}

func FuzzServed(f *testing.F) {
	data, err := os.ReadFile(filepath.Join(penguinModel, "saved_model.pb"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	rows := []string{"", "\x0a\x00", "\xff"}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := graph.Parse(penguinModel, data)
		if err != nil {
			return
		}
		signatures, err := m.Signatures()
		if err != nil {
			return
		}
		s := &Served{model: m, signatures: signatures, programs: map[string]*graph.Program{}}
		for _, signature := range signatures {
			in, err := tensor.New([]int{len(rows)}, rows)
			if err != nil {
				t.Fatal(err)
			}
			// An error is fine, a panic isn't.
			s.Run(signature.Name, map[string]tensor.Tensor{"examples": in})
		}
	})
}
