package runner_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// cudaProgram is a program for GPUs that answers a probe with a shell script's lines, and serves modules as the test's own child.
func cudaProgram(t *testing.T, probe string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stoker-cuda")
	script := "#!/bin/sh\nif [ \"$1\" = probe ]; then\n" + probe + "\nfi\n" +
		"echo \"on GPU $CUDA_VISIBLE_DEVICES, kernels in $CUDA_CACHE_PATH\"\nexec '" + os.Args[0] + "' \"$@\"\n"
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func cudaRunner(t *testing.T, program string) *runner.Runner {
	t.Helper()
	host, err := runner.New(runner.Options{
		Builtins: map[string]string{"test": "builtin:test@1"}, CacheDir: t.TempDir(), Env: []string{childEnv + "=1", "CUDA_VISIBLE_DEVICES=GPU-7"},
		CUDA: program,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	return host
}

const fakeGPU = `echo asked >> "$0.asked"; echo '{"device":"NVIDIA L4","memory":24000000000}'; exit 0`

func TestABuiltinModuleThatWantsAGPUIsRunByTheProgramForGPUs(t *testing.T) {
	t.Parallel()
	program := cudaProgram(t, fakeGPU)
	host := cudaRunner(t, program)
	for range 2 {
		outcome, err := host.Run(t.Context(), assignment(t, "succeed"), runner.Limits{GPU: true}, func(module.Message) {})
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(outcome.LogTail, "\n")
		if lines[0] != "training on GPU NVIDIA L4" || !strings.HasPrefix(lines[1], "on GPU GPU-7, kernels in /") || outcome.Metrics["accuracy"] != 0.875 {
			t.Errorf("metrics %v, log:\n%s", outcome.Metrics, outcome.LogTail)
		}
	}
	if asked, err := os.ReadFile(program + ".asked"); err != nil || string(asked) != "asked\n" {
		t.Errorf("the program was probed: %q, %v, expected once", asked, err)
	}
}

func TestOthersAreNotRunByTheProgramForGPUs(t *testing.T) {
	t.Parallel()
	program := cudaProgram(t, fakeGPU)
	outcome, err := cudaRunner(t, program).Run(t.Context(), assignment(t, "succeed"), runner.Limits{}, func(module.Message) {})
	if err != nil || strings.Contains(outcome.LogTail, "GPU") {
		t.Errorf("%v, log:\n%s", err, outcome.LogTail)
	}
	if _, err := os.Stat(program + ".asked"); err == nil {
		t.Error("the program was probed, and nobody wanted a GPU")
	}
}

func TestWithoutAGPUABuiltinModuleTrainsOnTheCPUAndItsLogSaysWhy(t *testing.T) {
	t.Parallel()
	noDevice := `echo 'Error in initialization, please refer to "https://docs.nvidia.com" for details on: NoDevice'; exit 1`
	for name, test := range map[string]struct{ program, says string }{
		"no device":  {cudaProgram(t, noDevice), "exit status 1: Error in initialization, please refer to \"https://docs.nvidia.com\" for details on: NoDevice\n"},
		"an error":   {cudaProgram(t, "echo something; echo 'stoker-cuda: the PTX is too new' >&2; exit 1"), "exit status 1: stoker-cuda: the PTX is too new\n"},
		"no answer":  {cudaProgram(t, "echo hello; exit 0"), `expected a line of JSON that names a device, got "hello"`},
		"no program": {filepath.Join(t.TempDir(), "stoker-cuda"), "no such file or directory (STOKER_CUDA names the program for GPUs, else it is stoker-cuda beside stoker)\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outcome, err := cudaRunner(t, test.program).Run(t.Context(), assignment(t, "succeed"), runner.Limits{GPU: true}, func(module.Message) {})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(outcome.LogTail, "no GPU, training on the CPU: ") || !strings.Contains(outcome.LogTail, test.says) {
				t.Errorf("the log is %q, expected %q in it", outcome.LogTail, test.says)
			}
			if strings.Contains(outcome.LogTail, "on GPU GPU-7") || outcome.Metrics["accuracy"] != 0.875 {
				t.Errorf("metrics %v, log:\n%s", outcome.Metrics, outcome.LogTail)
			}
		})
	}
}

func TestASessionKeepsOneProcessOnTheGPU(t *testing.T) {
	t.Parallel()
	session, err := cudaRunner(t, cudaProgram(t, fakeGPU)).Open(t.Context(), module.Source{Path: "builtin:test"})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for i := range 3 {
		outcome, err := session.Run(t.Context(), assignment(t, "succeed"), runner.Limits{GPU: true}, func(module.Message) {})
		if err != nil {
			t.Fatal(err)
		}
		if told := strings.HasPrefix(outcome.LogTail, "training on GPU NVIDIA L4\n"); told != (i == 0) {
			t.Errorf("log of trial %d: %q", i, outcome.LogTail)
		}
		if started := strings.Contains(outcome.LogTail, "on GPU GPU-7"); started != (i == 0) {
			t.Errorf("trial %d started a process: %v", i, started)
		}
	}
}
