package runner_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/runner/process"
)

// An interpreter that a pipeline names is a program of others from the first question on. This one says that it has TensorFlow if it is not
// held to what modules are held to: it looks for that a moment after its start, when its limits are set.
func TestAnInterpreterThatIsAskedHasNoMoreThanAModule(t *testing.T) {
	t.Parallel()
	network, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		held string // a test of the shell
		free bool   // it is held to that
		opts process.Confinement
	}{
		"a network":  {fmt.Sprintf(`"$(readlink /proc/self/ns/net)" != %q`, network), process.CanIsolate() != nil, process.Confinement{NoNetwork: process.CanIsolate() == nil}},
		"open files": {`"$(ulimit -n)" = 100`, false, process.Confinement{OpenFiles: 100}},
		"core files": {`"$(ulimit -c)" = 0`, false, process.Confinement{OpenFiles: 100}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "python")
			script := fmt.Sprintf("#!/bin/sh\nsleep 0.3\nhas='\"tensorflow\"'; [ %s ] && has=''\n"+
				"echo '{\"interpreter\": \"%s\", \"version\": \"3.11.7\", \"modules\": ['$has']}'\n", tc.held, path)
			syscall.ForkLock.RLock() // else a process that another test starts holds the file open: "text file busy"
			err := os.WriteFile(path, []byte(script), 0o755)
			syscall.ForkLock.RUnlock()
			if err != nil {
				t.Fatal(err)
			}
			host, err := runner.New(runner.Options{CacheDir: t.TempDir(), Confine: &tc.opts})
			if err != nil {
				t.Fatal(err)
			}
			defer host.Close()
			if got := host.Interpreter(t.Context(), module.Source{Path: "penguin.py", Python: path}); (got != "") != tc.free {
				t.Errorf("it is free of the limit: %t, want %t", got != "", tc.free)
			}
		})
	}
}
