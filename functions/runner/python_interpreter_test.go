package runner_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// A script that answers as an interpreter does is enough for one that is never started.
func TestAModelIsAskedByThePythonOfItsModule(t *testing.T) {
	t.Parallel()
	interpreter := func(modules string) string {
		path := filepath.Join(t.TempDir(), "python")
		script := "#!/bin/sh\necho '" + `{"interpreter": "` + path + `", "version": "3.11.7", "modules": [` + modules + "]}'\n"
		syscall.ForkLock.RLock() // else a process that another test starts holds the file open: "text file busy"
		err := os.WriteFile(path, []byte(script), 0o755)
		syscall.ForkLock.RUnlock()
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	byDefault, named, bare := interpreter(`"tensorflow"`), interpreter(`"tensorflow"`), interpreter("")
	host, err := runner.New(runner.Options{Python: byDefault, CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	for _, test := range []struct {
		source module.Source
		want   string
	}{
		{module.Source{Path: "builtin:dnn"}, byDefault},
		{module.Source{Path: "penguin.py", Python: named}, named},
		{module.Source{Path: "penguin.py", Python: bare}, ""},
		{module.Source{Path: "penguin.py", Python: "/no/such/python"}, ""},
	} {
		if got := host.Interpreter(t.Context(), test.source); got != test.want {
			t.Errorf("%+v: %q, want %q", test.source, got, test.want)
		}
	}
}
