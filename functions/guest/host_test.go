package guest_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/guest"
	"github.com/stoker-ml/stoker/functions/module"
)

// hostEnv makes this test binary a host that has a module do what it says, with the file of fileEnv, or run a TFX
// module that it names.
const (
	hostEnv = "GUEST_TEST_HOST"
	fileEnv = "GUEST_TEST_FILE"
)

// runHost prints a line at the module's first word, and its log at the end.
func runHost(do string) int {
	host, err := guest.New(guest.Options{
		Builtins: map[string]string{"test": "builtin:test@1"},
		Env:      []string{childEnv + "=1"}, Warm: 1, PythonWarm: guest.WarmFork,
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
	outcome, err := host.Run(context.Background(), a, guest.Limits{}, func(module.Message) { fmt.Println("running") })
	fmt.Println(outcome.LogTail)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// startHost starts such a host, and returns when its module runs.
func startHost(t *testing.T, do, file string, env ...string) *exec.Cmd {
	t.Helper()
	host := exec.CommandContext(t.Context(), os.Args[0])
	host.Env = append(os.Environ(), hostEnv+"="+do, fileEnv+"="+file)
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
