package runner_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// hostEnv makes this test binary a host that has a module do what it says, with the file of fileEnv, or run a TFX
// module that it names.
const (
	runnerEnv = "RUNNER_TEST_HOST"
	fileEnv   = "RUNNER_TEST_FILE"
)

// runRunner prints a line at the module's first word, and its log at the end.
func runRunner(do string) int {
	host, err := runner.New(runner.Options{
		Builtins: map[string]string{"test": "builtin:test@1"},
		Env:      []string{childEnv + "=1"}, Warm: 1, PythonWarm: runner.WarmFork,
	})
	if err != nil {
		panic(err)
	}
	defer host.Close()
	a := assignmentIn(os.TempDir(), do)
	a.CustomConfig["file"] = os.Getenv(fileEnv)
	if strings.HasSuffix(do, ".py") {
		a.Module = module.Source{Path: do}
	}
	outcome, err := host.Run(context.Background(), a, runner.Limits{}, func(module.Message) { fmt.Println("running") })
	fmt.Println(outcome.LogTail)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// startRunner starts such a host, and returns when its module runs.
func startRunner(t *testing.T, do, file string, env ...string) *exec.Cmd {
	t.Helper()
	host := exec.CommandContext(t.Context(), os.Args[0])
	host.Env = append(os.Environ(), runnerEnv+"="+do, fileEnv+"="+file)
	host.Env = append(host.Env, env...)
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("host says %q: %v", line, err)
	}
	return host
}

func kill(host *exec.Cmd) { _, _ = host.Process.Kill(), host.Wait() }
