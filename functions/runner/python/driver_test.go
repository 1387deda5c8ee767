package python_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/runner/python"
)

// The driver is tested in Python, by the scripts of testdata/driver. Two of them import TensorFlow.
func TestTheDriversOwnTestsPass(t *testing.T) {
	t.Parallel()
	interpreter := tftest.Python(t)
	layout, err := python.Lay(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs("testdata/driver")
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := filepath.Glob(filepath.Join(here, "test_*.py"))
	if err != nil || len(scripts) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, script := range scripts {
		t.Run(strings.TrimSuffix(strings.TrimPrefix(filepath.Base(script), "test_"), ".py"), func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), interpreter, script)
			cmd.Dir = t.TempDir()
			cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "TF_USE_LEGACY_KERAS=0", "TF_CPP_MIN_LOG_LEVEL=2",
				"TMPDIR="+t.TempDir(), "PYTHONPATH="+strings.Join([]string{layout.Driver, here, layout.Shim}, string(filepath.ListSeparator)))
			if said, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, said)
			}
		})
	}
}
