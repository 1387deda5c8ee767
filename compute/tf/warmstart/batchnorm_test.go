package warmstart

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

// normalized returns a network with a batch normalization, of that seed.
func normalized(t *testing.T, seed int64) *nn.Graph {
	t.Helper()
	b := nn.NewBuilder(nn.NewRand(seed))
	x := b.Dense("dense_1", b.Input("x", nn.Float32, 3), 4, "")
	x = b.Activation("act", b.BatchNormalization("dense_1/batch_normalization", x, nn.BatchNorm{}), nn.OpRelu)
	b.Output("y", b.Dense("logits", x, 2, ""))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

var threeRows = nn.Floats(3, 1, -2, 0.5, 3, 0.25, -1, 7, 0, 2)

func answers(t *testing.T, g *nn.Graph) []float32 {
	t.Helper()
	out, err := nn.Eval(g, map[string]nn.Value{"x": threeRows})
	if err != nil {
		t.Fatal(err)
	}
	return out["y"].Floats
}

// Moving averages aren't learned, but belong to a model like weights.
func TestAveragesOfBatchNormalizationAreTaken(t *testing.T) {
	t.Parallel()
	old := normalized(t, 1)
	for i := range old.Params {
		for j := range old.Params[i].Values {
			if old.Params[i].Moving {
				old.Params[i].Values[j] = 1.5 + float32(j)
			}
		}
	}
	dir := filepath.Join(t.TempDir(), "model")
	spec := example.Spec{{Name: "x", Kind: example.Float, Shape: []int{3}}}
	if err := savedmodel.Write(dir, savedmodel.Model{Graph: old, Spec: spec}); err != nil {
		t.Fatal(err)
	}
	g := normalized(t, 2)
	table := start(t, g, open(t, dir), Rules{})
	if table.Taken() != 8 || len(table.Left) != 0 {
		t.Errorf("table\n%v", table)
	}
	for i, y := range answers(t, old) {
		if got := answers(t, g)[i]; got != y {
			t.Errorf("answer %d is %v, that of the old model %v", i, got, y)
		}
	}
}

// Keras keeps variances, and its layers have numbers for names. Answers are sums of products in
// float32, in another order.
func TestABatchNormalizationOfKerasIsTaken(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "keras")
	var want [][]float64
	tftest.Run(t, `
def check(c):
    k = tf.keras
    k.utils.set_random_seed(3)
    model = k.Sequential([k.Input([3], name="x"), k.layers.Dense(4), k.layers.BatchNormalization(), k.layers.ReLU(), k.layers.Dense(2)])
    model.layers[1].set_weights([np.array(v, np.float32) for v in ([1, 2, 3, 4], [0, 1, 0, -1], [0.5, -1, 2, 0], [4, 0.25, 1e-4, 9])])
    model.export(c["dir"], verbose=False)
    return model(np.array(c["x"], np.float32).reshape(-1, 3)).numpy()
`, map[string]any{"dir": dir, "x": threeRows.Floats}, &want)
	g := normalized(t, 2)
	table := start(t, g, open(t, dir), Rules{})
	if table.Taken() != 8 || !strings.Contains(table.String(), "the root of it and 0.001") {
		t.Errorf("table\n%v", table)
	}
	for i, got := range answers(t, g) {
		if y := want[i/2][i%2]; math.Abs(float64(got)-y) > 1e-4*max(1, math.Abs(y)) {
			t.Errorf("answer %d is %v, Keras's %v", i, got, y)
		}
	}
}
