//go:build cuda_kernels

package cuda

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestThePTXIsWhatTheCompilerMakesOfTheSource(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "all.ptx")
	if text, err := exec.CommandContext(t.Context(), "kernels/ptx.sh", out).CombinedOutput(); err != nil {
		t.Fatalf("compile the kernels: %v\n%s", err, text)
	}
	now, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if string(now) != ptx {
		t.Error("kernels/all.ptx is not what kernels/*.cu* compile to: run task cuda:ptx")
	}
}
