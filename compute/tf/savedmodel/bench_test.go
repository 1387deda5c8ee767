package savedmodel

import (
	_ "embed"
	"fmt"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

// BenchmarkWrite exports a model behind the transform graph of the taxi data set, tables and assets
// included.
func BenchmarkWrite(b *testing.B) {
	dir := b.TempDir()
	m := tower()
	m.Graph.Inputs[0].Name, m.Graph.Inputs = "trip_miles_xf", m.Graph.Inputs[:1]
	m.Graph.Nodes = m.Graph.Nodes[:1]
	m.Graph.Nodes[0].In[0] = "trip_miles_xf"
	m.Graph.Outputs = []nn.Output{{Name: "centred", Node: "centred", Width: 1}}
	m.TransformGraph = filepath.Join("testdata", "taxi", "transform_graph")
	for i := 0; b.Loop(); i++ {
		if err := Write(filepath.Join(dir, strconv.Itoa(i)), m); err != nil {
			b.Fatal(err)
		}
	}
}

//go:embed testdata/bench.py
var benchScript string

// benchExports is how many times a measurement writes the model: once is too short for the clock.
const benchExports = 5

// BenchmarkTensorFlowWrite compares the CPU time of writing a SavedModel with that of TensorFlow: a
// network behind the transform graph of the taxi data, tables, assets and fingerprint included.
// TensorFlow saves the same model after it has loaded it, so that it neither builds nor traces it,
// as a training in Python would have to.
func BenchmarkTensorFlowWrite(b *testing.B) {
	b.Run("taxi", func(b *testing.B) {
		peer, m := tftest.BenchmarkPeer(b, 1), taxiModel(b)
		exportBoth(b, peer, m)
		var ours, theirs float64
		for b.Loop() {
			o, t := exportBoth(b, peer, m)
			ours, theirs = ours+o, theirs+t
		}
		b.ReportMetric(ours/float64(b.N)*1000, "cpu-ms")
		b.ReportMetric(theirs/float64(b.N)*1000, "tensorflow-cpu-ms")
	})
}

func TestTensorFlowLoadsAndSavesTheModelOfTheBenchmark(t *testing.T) {
	t.Parallel()
	tftest.Python(t) // not with -short
	err := tftest.WithPeer(t.Context(), 1, t.Output(), func(peer *tftest.Peer) error {
		if ours, theirs := exportBoth(t, peer, taxiModel(t)); ours <= 0 || theirs <= 0 {
			t.Errorf("%v CPU-seconds, and %v by TensorFlow", ours, theirs)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// exportBoth returns the CPU time that one export takes each, in seconds.
func exportBoth(tb testing.TB, peer *tftest.Peer, m Model) (ours, theirs float64) {
	tb.Helper()
	dir := tb.TempDir()
	before := tftest.CPUSeconds(tb)
	for i := range benchExports {
		if err := Write(filepath.Join(dir, strconv.Itoa(i)), m); err != nil {
			tb.Fatal(err)
		}
	}
	ours = (tftest.CPUSeconds(tb) - before) / benchExports
	in := map[string]string{"model": filepath.Join(dir, "0"), "to": filepath.Join(dir, "theirs")}
	var variables int
	if _, err := peer.Call(benchScript, "load", in, &variables); err != nil || variables != len(m.Graph.Params) {
		tb.Fatalf("TensorFlow loaded %d variables of %d: %v", variables, len(m.Graph.Params), err)
	}
	theirs, err := peer.Call(benchScript, "save", in, &variables)
	if err != nil {
		tb.Fatal(err)
	}
	return ours, theirs
}

// taxiModel returns a network over the transformed features of the taxi data: numbers as they are,
// integers one-hot. Its weights are random: the work of writing doesn't depend on them.
func taxiModel(tb testing.TB) Model {
	tb.Helper()
	graph, err := filepath.Abs(filepath.Join("testdata", "taxi", "transform_graph"))
	if err != nil {
		tb.Fatal(err)
	}
	schema, err := example.ReadSchema(filepath.Join(graph, "transformed_metadata", "schema.pbtxt"))
	if err != nil {
		tb.Fatal(err)
	}
	spec, err := schema.Spec()
	if err != nil {
		tb.Fatal(err)
	}
	b := nn.NewBuilder(nn.NewRand(1))
	var columns []nn.Ref
	for _, f := range spec.Without("tips_xf") {
		if f.Kind == example.Int64 {
			const depth = 60
			columns = append(columns, b.OneHot(f.Name+"/one_hot", b.Clamp(f.Name+"/clamp", b.Input(f.Name, nn.Int64, 1), depth), depth))
		} else {
			columns = append(columns, b.Input(f.Name, nn.Float32, 1))
		}
	}
	x := b.Concat("features", columns...)
	for i, units := range []int{100, 70, 50, 25} { // of TFX's taxi example
		x = b.Dense(fmt.Sprintf("dense_%d", i+1), x, units, nn.OpRelu)
	}
	b.Output("logits", b.Dense("logits", x, 1, ""))
	g, err := b.Graph()
	if err != nil {
		tb.Fatal(err)
	}
	return Model{Graph: g, TransformGraph: graph, Labels: []string{"tips"}}
}
