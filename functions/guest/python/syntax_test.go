package python_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/guest/python"
)

func TestWhatIsNoPythonIsNamedByItsLine(t *testing.T) {
	t.Parallel()
	interpreter := python3(t)
	dir := t.TempDir()
	for text, want := range map[string]string{
		"def run_fn(a):\n    pass\n":           "",
		"import no_such_module\nraise 1\n":     "", // it is read, not run
		"x = 1\ndef run_fn(a:\n    pass\n":     "m.py:2: SyntaxError: '(' was never closed",
		"\"\"\"\xff\"\"\"\n":                   "m.py:1: SyntaxError: ",
		"# -*- coding: latin-1 -*-\n# \xff\n":  "",
		"def run_fn(a):\n\tx = 1\n        y\n": "m.py:3: SyntaxError: inconsistent use of tabs",
	} {
		path := filepath.Join(dir, "m.py")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := python.CheckSyntax(t.Context(), python.Environment{Interpreter: interpreter}, path)
		wrong, ok := errors.AsType[*python.SyntaxError](err)
		switch {
		case want == "" && err == nil:
		case want == "" || !ok || wrong.File != path || !strings.HasPrefix(err.Error(), filepath.Join(dir, want)):
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	gone := python.CheckSyntax(t.Context(), python.Environment{Interpreter: filepath.Join(dir, "python")}, "m.py")
	if _, ok := errors.AsType[*python.SyntaxError](gone); gone == nil || ok {
		t.Errorf("without an interpreter: %v", gone)
	}
}

// python3 is an interpreter without any packages of ours.
func python3(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("needs python3; -short leaves it out")
	}
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal(err)
	}
	return path
}
