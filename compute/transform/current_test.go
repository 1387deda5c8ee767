//go:build transform

package transform

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/stoker-ml/stoker/compute/tftest"
)

var update = flag.Bool("update", false, "write the graphs and answers to testdata")

// The graphs in testdata are those that tf.Transform makes of functions.py today, and TensorFlow answers as it did.
func TestGraphsAreCurrent(t *testing.T) {
	t.Parallel()
	made := t.TempDir()
	if *update {
		made = graphs
	}
	generate := exec.Command(tftest.TransformPython(t), filepath.Join("testdata", "generate.py"), made)
	generate.Env = append(os.Environ(), "CUDA_VISIBLE_DEVICES=-1", "TF_CPP_MIN_LOG_LEVEL=3", "PYTHONDONTWRITEBYTECODE=1")
	if out, err := generate.CombinedOutput(); err != nil {
		t.Fatalf("generate.py: %v: %s", err, out)
	}
	names, fresh := goldenNames(t, graphs), goldenNames(t, made)
	if !reflect.DeepEqual(names, fresh) {
		t.Fatalf("testdata has graphs %v, functions.py makes %v", names, fresh)
	}
	for _, name := range names {
		if !reflect.DeepEqual(withoutMessages(readGolden(t, graphs, name)), withoutMessages(readGolden(t, made, name))) {
			t.Errorf("%s is not current: task generate:transform makes it so", name)
		}
	}
}

// withoutMessages leaves out what errors say: of two rows that are errors either may be told.
func withoutMessages(g golden) golden {
	for i, b := range g.Batches {
		if b.Error != "" {
			g.Batches[i].Error = "some error"
		}
	}
	return g
}
