package skew

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// interpreterEnv names the interpreter that the test's child process asks.
const interpreterEnv = "STOKER_TEST_INTERPRETER"

// The worker kills the process of a check that takes too long, and the kernel kills it when the
// worker dies.
func TestAnInterpreterDiesWithAKilledCheck(t *testing.T) {
	if path := os.Getenv(interpreterEnv); path != "" {
		_, err := python{interpreter: path}.run(t.Context(), nil, 0)
		t.Fatal(err)
	}
	t.Parallel()
	dir := t.TempDir()
	interpreter, started := filepath.Join(dir, "interpreter"), filepath.Join(dir, "pid")
	script := "#!/bin/sh\necho $$ > " + started + "\nexec sleep 600\n"
	if err := os.WriteFile(interpreter, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	check := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	check.Env = append(os.Environ(), interpreterEnv+"="+interpreter)
	if err := check.Start(); err != nil {
		t.Fatal(err)
	}
	pid := eventually(t, func() string {
		text, _ := os.ReadFile(started)
		return strings.TrimSpace(string(text))
	})
	if err := check.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = check.Wait() // it was killed
	eventually(t, func() string {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		// A zombie, on a machine where no process waits for orphans.
		if err != nil || bytes.Contains(stat, []byte(") Z ")) {
			return "gone"
		}
		return ""
	})
}

// eventually returns what found returns as soon as that is not empty.
func eventually(t *testing.T, found func() string) string {
	t.Helper()
	for end := time.Now().Add(8 * time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if text := found(); text != "" {
			return text
		}
	}
	t.Fatal("waited for two minutes")
	return ""
}
