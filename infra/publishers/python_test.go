//go:build publishers

package publishers_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestPythonPublishes installs the publisher's packages from PyPI into an environment that is gone afterwards.
func TestPythonPublishes(t *testing.T) {
	t.Parallel()
	venv := t.TempDir()
	for _, line := range [][]string{
		{"python3", "-m", "venv", venv},
		{filepath.Join(venv, "bin", "pip"), "install", "--quiet", "-r", "python/requirements.txt"},
	} {
		if said, err := exec.CommandContext(t.Context(), line[0], line[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", line, err, said)
		}
	}
	check(t, func(t *testing.T, env []string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), filepath.Join(venv, "bin", "python"), append([]string{"python/publish.py"}, args...)...)
		cmd.Env = append(os.Environ(), env...)
		said, err := cmd.CombinedOutput()
		return string(said), err
	})
}
