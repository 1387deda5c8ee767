//go:build cuda_kernels

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheBinaryWithoutAGPUSaysSoAndEnds builds the binary, and hides all GPUs from it.
func TestTheBinaryWithoutAGPUSaysSoAndEnds(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "stoker-cuda")
	build := exec.CommandContext(t.Context(), "../../compute/nn/cuda/go.sh", "build", "-tags", "stoker_cuda", "-o", program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	for _, word := range []string{"probe", "module"} {
		cmd := exec.CommandContext(t.Context(), program, word)
		cmd.Env = append(os.Environ(), "CUDA_VISIBLE_DEVICES=-1")
		out, err := cmd.Output()
		if failed, ok := errors.AsType[*exec.ExitError](err); !ok || failed.ExitCode() != 1 {
			t.Errorf("%s: %v, expected exit status 1", word, err)
		}
		if lines := strings.Split(strings.TrimSpace(string(out)), "\n"); len(lines) != 1 || !strings.Contains(lines[0], "NoDevice") {
			t.Errorf("%s printed %q, expected one line that there is no device", word, out)
		}
	}
}
