package python_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/runner/python"
)

func TestWhatIsNoPythonIsNamedByItsLine(t *testing.T) {
	t.Parallel()
	interpreter := tftest.Python3(t)
	dir := t.TempDir()
	for text, want := range map[string]string{
		"def run_fn(a):\n    pass\n":           "",
		"import no_such_module\nraise 1\n":     "", // it is read, not run
		"x = 1\ndef run_fn(a:\n    pass\n":     "m.py:2:11: SyntaxError: '(' was never closed",
		"\"\"\"\xff\"\"\"\n":                   "m.py:1:",
		"# -*- coding: latin-1 -*-\n# \xff\n":  "",
		"def run_fn(a):\n\tx = 1\n        y\n": "m.py:3:",
	} {
		path := filepath.Join(dir, "m.py")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := outlineError(t, python.Environment{Interpreter: interpreter}, path)
		wrong, ok := errors.AsType[*python.SyntaxError](err)
		switch {
		case want == "" && err == nil:
		case want == "" || !ok || wrong.File != path || !strings.HasPrefix(err.Error(), filepath.Join(dir, want)):
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	gone := outlineError(t, python.Environment{Interpreter: filepath.Join(dir, "python")}, "m.py")
	if _, ok := errors.AsType[*python.SyntaxError](gone); gone == nil || ok {
		t.Errorf("without an interpreter: %v", gone)
	}
}

func outlineError(t *testing.T, e python.Environment, files ...string) error {
	t.Helper()
	_, err := python.ReadOutlines(t.Context(), e, files...)
	return err
}

func TestAnOutlineHasTheNamesAtTheTopOfAFile(t *testing.T) {
	t.Parallel()
	interpreter := tftest.Python3(t)
	path := filepath.Join(t.TempDir(), "m.py")
	for _, tt := range []struct {
		text, binds string
		open        bool
		want        python.Binding
	}{
		{"def run_fn(a, b=1, *, c, d=2): pass\n", "run_fn", false, python.Binding{Line: 1, Column: 1, Function: true, Least: 1, Most: 2, Keywords: []string{"c"}}},
		{"def run_fn(*a): pass\n", "run_fn", false, python.Binding{Line: 1, Column: 1, Function: true, Most: -1, Keywords: []string{}}},
		{"from os.path import join as run_fn\n", "run_fn", false, python.Binding{Line: 1, Column: 1, From: "os.path", Original: "join", Installed: true}},
		{"from .x import run_fn\n", "run_fn", false, python.Binding{Line: 1, Column: 1, From: ".x", Original: "run_fn"}},
		{"x = 1\nasync def run_fn(): pass\n", "run_fn", false, python.Binding{Line: 2, Column: 1, Function: true, Coroutine: true, Keywords: []string{}}},
		{"@wrapped\ndef run_fn(): pass\n", "run_fn", false, python.Binding{Line: 2, Column: 1}},
		{"if x:\n  def run_fn(): pass\nelse:\n  from y import z as run_fn\n", "run_fn", false, python.Binding{Line: 4, Column: 3, From: "y", Original: "z"}},
		{"run_fn = functools.partial(train, 1)\n", "run_fn", false, python.Binding{Line: 1, Column: 1}},
		{"def f():\n  global run_fn\n  run_fn = 1\n", "run_fn", false, python.Binding{Line: 2, Column: 3}},
		{"try:\n  import tuning\nexcept ImportError as run_fn: pass\n", "run_fn", false, python.Binding{Line: 3, Column: 1}},
		{"class A:\n  def run_fn(self): pass\n", "A", false, python.Binding{Line: 1, Column: 1}},
		{"from x import *\n", "*", true, python.Binding{Line: 1, Column: 1, From: "x", Original: "*"}},
		{"y = 1\nglobals()['run_fn'] = y\n", "y", true, python.Binding{Line: 1, Column: 1}},
		{"def __getattr__(name): pass\n", "__getattr__", true, python.Binding{Line: 1, Column: 1, Function: true, Least: 1, Most: 1, Keywords: []string{}}},
	} {
		if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		all, err := python.ReadOutlines(t.Context(), python.Environment{Interpreter: interpreter}, path)
		if err != nil {
			t.Errorf("%q: %v", tt.text, err)
			continue
		}
		got, bound := all[0].Binds(tt.binds)
		tt.want.Name = tt.binds
		if !bound || !reflect.DeepEqual(got, tt.want) || all[0].Open != tt.open {
			t.Errorf("%q: %+v, %t; want %+v", tt.text, got, all[0].Open, tt.want)
		}
		if _, bound := all[0].Binds("run_fn"); bound && tt.binds != "run_fn" {
			t.Errorf("%q binds what is not at its top", tt.text)
		}
	}
}

// An untrusted file may contain anything, and Python reads it without running it.
func TestAHostileFileIsReadInBounds(t *testing.T) {
	t.Parallel()
	interpreter := tftest.Python3(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"nested":  strings.Repeat("(", 5000) + strings.Repeat(")", 5000),
		"chained": strings.Repeat("a.", 100_000) + "b\n",
		"names":   strings.Repeat("x = 1\n", 50_000),
		"zero":    "x = 1\x00\n",
		"runs":    "import os\nopen(os.path.join(os.path.dirname(__file__), 'ran'), 'w')\nraise SystemExit(7)\n",
	} {
		path := filepath.Join(dir, name+".py")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		all, err := python.ReadOutlines(t.Context(), python.Environment{Interpreter: interpreter}, path)
		// It may need more than that Python's stack has.
		if _, syntax := errors.AsType[*python.SyntaxError](err); err != nil && !syntax && name != "chained" {
			t.Errorf("%s: %v", name, err)
		}
		if name == "names" && (err != nil || len(all[0].Names) > 2000 || !all[0].Open) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("it was run")
	}
}
