package python_test

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/runner/python"
)

// Each script of testdata/shim checks one property of the shim of tfx, which is at the end of
// sys.path as in a job. None imports TensorFlow.
func TestTheShimReplacesTFX(t *testing.T) {
	t.Parallel()
	interpreter, shim := tftest.Python(t), layShim(t)
	scripts, err := filepath.Glob("testdata/shim/*.py")
	if err != nil || len(scripts) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, script := range scripts {
		t.Run(strings.TrimSuffix(filepath.Base(script), ".py"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(script)
			if err != nil {
				t.Fatal(err)
			}
			const first = "import sys\nsys.path.append(sys.argv[1])\n"
			const last = "\nassert 'tensorflow' not in sys.modules, 'TensorFlow was imported'\n"
			cmd := exec.CommandContext(t.Context(), interpreter, "-c", first+string(text)+last, shim)
			cmd.Dir = t.TempDir()
			cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
			if said, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, said)
			}
		})
	}
}

//go:embed testdata/tflite.py
var tfliteScript string

func TestAModuleRewritesItsModelToTFLite(t *testing.T) {
	t.Parallel()
	var got struct {
		Files  []string
		Answer []float64
	}
	tftest.Run(t, tfliteScript, map[string]string{"shim": layShim(t), "dir": t.TempDir()}, &got)
	if want := []string{"assets.extra/requests", "assets/vocabulary.txt", "tflite"}; !slices.Equal(got.Files, want) {
		t.Errorf("rewritten model has %v, want %v", got.Files, want)
	}
	// Whole numbers, which are exact in any order of sums.
	if len(got.Answer) != 2 || got.Answer[0] != 3 || got.Answer[1] != 0 {
		t.Errorf("the TFLite model says %v, want [3 0]", got.Answer)
	}
}

// layShim writes the embedded files into a directory of the test's, and returns that of the shim.
func layShim(t *testing.T) string {
	t.Helper()
	layout, err := python.Lay(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return layout.Shim
}
