//go:build transform

package transform

import (
	"bytes"
	"flag"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

var update = flag.Bool("update", false, "write the graphs and answers to testdata")

// unstable is the graph whose floats differ by hundredths from run to run: tf.Transform finds its
// parameters by fitting.
const unstable = "scale_to_gaussian"

// The graphs in testdata are those that tf.Transform makes of functions.py today, and TensorFlow
// answers as it did.
func TestGraphsAreCurrent(t *testing.T) {
	t.Parallel()
	made := t.TempDir()
	if *update {
		made = graphs
	}
	generate := exec.Command(tftest.Python(t), filepath.Join("testdata", "generate.py"), made)
	generate.Env = append(os.Environ(), "CUDA_VISIBLE_DEVICES=-1", "TF_CPP_MIN_LOG_LEVEL=3", "PYTHONDONTWRITEBYTECODE=1")
	if out, err := generate.CombinedOutput(); err != nil {
		t.Fatalf("generate.py: %v: %s", err, out)
	}
	names, fresh := goldenNames(t, graphs), goldenNames(t, made)
	if !slices.Equal(names, fresh) {
		t.Fatalf("testdata has graphs %v, functions.py makes %v", names, fresh)
	}
	for _, name := range names {
		if !sameAnswers(readGolden(t, graphs, name), readGolden(t, made, name), name != unstable) {
			t.Errorf("%s is not current: task generate:transform makes it so", name)
		}
	}
}

// sameAnswers leaves out what errors say, since of two rows that are errors either may be reported,
// and the records, which follow from the answers.
func sameAnswers(a, b golden, areStable bool) bool {
	if !slices.Equal(a.Features, b.Features) || len(a.Batches) != len(b.Batches) {
		return false
	}
	for i := range a.Batches {
		x, y := a.Batches[i], b.Batches[i]
		alike := func(v, w []goldenTensor) bool {
			return slices.EqualFunc(v, w, func(v, w goldenTensor) bool { return v.like(w, areStable) })
		}
		if !slices.Equal(x.Rows, y.Rows) || (x.Error == "") != (y.Error == "") || !maps.EqualFunc(x.Outputs, y.Outputs, alike) {
			return false
		}
	}
	return true
}

// like allows for analyzers that add up in float32, in an order that differs from run to run.
func (w goldenTensor) like(other goldenTensor, areStable bool) bool {
	if w.Type != other.Type || !slices.Equal(w.Shape, other.Shape) {
		return false
	}
	if w.Type != "float32" {
		return bytes.Equal(w.Data, other.Data)
	}
	if !areStable {
		return true
	}
	a, b := make([]float32, tensor.Count(w.Shape)), make([]float32, tensor.Count(w.Shape))
	if w.decode(a) != nil || other.decode(b) != nil {
		return false
	}
	return slices.EqualFunc(a, b, func(x, y float32) bool {
		const tolerance = 1e-4 // of numbers near 1, and relative for larger ones
		return x == y || x != x && y != y || math.Abs(float64(x-y)) <= tolerance*max(1, math.Abs(float64(x)))
	})
}
