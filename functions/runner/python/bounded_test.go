package python_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/runner/python"
)

// A pipeline may name any program as its interpreter: its answer to any question is limited.
func TestWhateverAnInterpreterIsAskedForItsAnswerIsBounded(t *testing.T) {
	t.Parallel()
	noise := python.Environment{Interpreter: program(t, filepath.Join(t.TempDir(), "noise"), "yes | head -c 10000000; exec sleep 60")}
	layout, err := python.Lay(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	_, signs := noise.KerasSigns(t.Context(), layout, t.TempDir(), "m.py")
	for name, err := range map[string]error{"signs": signs, "syntax": outlineError(t, noise, "m.py")} {
		if err == nil || !strings.Contains(err.Error(), "its output is longer than 8388608 bytes") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
