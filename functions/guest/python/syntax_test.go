package python

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatIsNoPythonIsNamedByItsLine(t *testing.T) {
	t.Parallel()
	interpreter, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
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
		err := CheckSyntax(t.Context(), Environment{Interpreter: interpreter}, path)
		wrong, ok := errors.AsType[*SyntaxError](err)
		switch {
		case want == "" && err == nil:
		case want == "" || !ok || wrong.File != path || !strings.HasPrefix(err.Error(), filepath.Join(dir, want)):
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	gone := CheckSyntax(t.Context(), Environment{Interpreter: filepath.Join(dir, "python")}, "m.py")
	if _, ok := errors.AsType[*SyntaxError](gone); gone == nil || ok {
		t.Errorf("without an interpreter: %v", gone)
	}
}
