package modules

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// Not parallel: it sets the cache folder.
func TestASyntaxErrorIsReportedBeforeAnythingIsApplied(t *testing.T) {
	interpreter := tftest.Python(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	for name, text := range map[string]string{
		"good.py":  "def run_fn(fn_args):\n    pass\n",
		"bad.py":   "x = 1\ndef tuner_fn(fn_args:\n    pass\n",
		"other.py": "print 'of Python 2, and not called'\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wrong := filepath.Join(dir, "bad.py") + ":2:13: SyntaxError: "
	for _, tt := range []struct {
		name   string
		source module.Source
		want   string
	}{
		{"one file", module.Source{Path: "good.py"}, ""},
		{"a wrong one", module.Source{Path: "bad.py"}, wrong},
		{"a function of another file", module.Source{Path: "good.py", TunerFn: "bad.tuner_fn"}, wrong},
		{"both of others", module.Source{Path: "bad.py", RunFn: "good.run_fn", TunerFn: "good.run_fn"}, ""},
	} {
		tt.source.Path, tt.source.Python = filepath.Join(dir, tt.source.Path), interpreter
		err := CheckModule(t.Context(), quiet(), tt.source, true, tt.source.TunerFn != "")
		if (tt.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// Not parallel: it sets the cache folder.
func TestAModuleThatLacksWhatIsCalledIsRefused(t *testing.T) {
	interpreter := tftest.Python(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for name, tt := range map[string]struct {
		text   string
		source module.Source
		tunes  bool
		want   string // after the file's name; "": no error
		blind  string // the same without Python; "=": want
	}{
		"all there":                 {"def run_fn(fn_args): pass\ndef tuner_fn(fn_args): pass\n", module.Source{}, true, "", ""},
		"the older way":             {"def trainer_fn(fn_args, schema): pass\n", module.Source{}, false, "", ""},
		"a near name":               {"import os\n\ndef run_fm(fn_args): pass\n", module.Source{}, false, ":3:1: run_fm: expected run_fn(fn_args); did you mean run_fn?", "="},
		"none":                      {"def train(fn_args): pass\n", module.Source{}, false, ":1:1: it does not define run_fn(fn_args) or trainer_fn(fn_args, schema): ", "="},
		"no tuner":                  {"def run_fn(fn_args): pass\n", module.Source{}, true, ":1:1: it does not define tuner_fn(fn_args): define it, or name the function to call, as in module.tuner_fn: my_module.tuner_fn", "="},
		"none is asked for":         {"def run_fn(fn_args): pass\n", module.Source{}, false, "", ""},
		"imported":                  {"from shutil import copy as run_fn\n", module.Source{}, false, "", ""},
		"from nowhere":              {"import os\nfrom other import run_fn\n", module.Source{}, false, ":2:1: run_fn is imported from other, which is neither in the module's files nor installed", ""},
		"renamed":                   {"from other.deep import train as run_fn\n", module.Source{}, false, ":1:1: run_fn is imported from other.deep, which is neither", ""},
		"relative":                  {"from .other import run_fn\n", module.Source{}, false, ":1:1: run_fn is imported from .other, which is neither", ""},
		"from sibling":              {"from sibling import run_fn\n", module.Source{}, false, "", ""},
		"relative, sibling":         {"from .sibling import run_fn\n", module.Source{}, false, "", ""},
		"one of two":                {"try:\n  from sibling import run_fn\nexcept ImportError:\n  from other import run_fn\n", module.Source{}, false, "", ""},
		"of a requirement":          {"from other import run_fn\n", module.Source{Requirements: []string{"other==1"}}, false, "", ""},
		"with a star":               {"from other import *\n", module.Source{}, false, "", ""},
		"named":                     {"def train(fn_args): pass\n", module.Source{RunFn: "m.train"}, false, "", ""},
		"named wrongly":             {"def train(fn_args): pass\n", module.Source{RunFn: "m.trian"}, false, ":1:1: train: expected trian(fn_args); did you mean trian?", "="},
		"of a package":              {"x = 1\n", module.Source{RunFn: "installed.train"}, false, "", ""},
		"no arguments":              {"def run_fn(): pass\n", module.Source{}, false, ":1:1: run_fn: expected a function of 1 argument, as TFX calls run_fn(fn_args)", ""},
		"too many":                  {"def run_fn(a, b): pass\n", module.Source{}, false, ":1:1: run_fn: expected a function of 1 argument", ""},
		"one to spare":              {"def run_fn(a, b=1): pass\n", module.Source{}, false, "", ""},
		"async":                     {"async def run_fn(a): pass\n", module.Source{}, false, ":1:1: run_fn: expected a plain function", ""},
		"in a comment":              {"# run_fn\n", module.Source{}, false, ":1:1: it does not define run_fn(fn_args)", ""},
		"the older way, by itself":  {"def trainer_fn(fn_args): pass\n", module.Source{}, false, "", ""},
		"the older way, with three": {"def trainer_fn(a, b, c): pass\n", module.Source{}, false, ":1:1: trainer_fn: expected a function of 1 or 2 arguments", ""},
		"the older way, with none":  {"def trainer_fn(): pass\n", module.Source{}, false, ":1:1: trainer_fn: expected a function of 1 or 2 arguments", ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "m.py")
			for path, text := range map[string]string{path: tt.text, filepath.Join(filepath.Dir(path), "sibling.py"): "def run_fn(a): pass\n"} {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			tt.source.Path, tt.source.Python = path, interpreter
			check := func(want string) {
				t.Helper()
				err := CheckModule(t.Context(), quiet(), tt.source, true, tt.tunes)
				if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), path+want)) {
					t.Errorf("%v, want %q", err, want)
				}
			}
			check(tt.want)
			t.Setenv("PATH", t.TempDir())
			tt.source.Python = filepath.Join(t.TempDir(), "nowhere")
			check(map[bool]string{true: tt.want, false: tt.blind}[tt.blind == "="])
		})
	}
}

func TestAPathThatHoldsNoProgramIsRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		files map[string]string
		path  string
		want  string // after the folder's name; "": no error
	}{
		"nothing":            {nil, "", " holds neither a Go program nor a TFX module: expected Go files of package main in it, or .py files"},
		"texts":              {map[string]string{"readme.txt": "x"}, "", " holds neither a Go program nor a TFX module"},
		"a text":             {map[string]string{"readme.txt": "x"}, "readme.txt", "/readme.txt is neither a TFX module"},
		"a program":          {map[string]string{"main.go": "package main\nfunc main() {}\n", "data.txt": "x"}, "", ""},
		"it does not parse":  {map[string]string{"a.go": "package main\n", "main.go": "package main\n\nfunc main() {\n\tx := (1\n}\n"}, "", "/main.go:4:9: "},
		"a library":          {map[string]string{"m.go": "package train\n"}, "", "/m.go is of package train: expected package main"},
		"tests alone":        {map[string]string{"m_test.go": "package main\n"}, "", " holds neither"},
		"what is not built":  {map[string]string{"main.go": "package main\nfunc main() {}\n", "gen.go": "//go:build ignore\n\npackage gen\nfunc {"}, "", ""},
		"a program below it": {map[string]string{"cmd/main.go": "package main\nfunc main() {}\n"}, "", " holds neither"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, text := range tt.files {
				path := filepath.Join(dir, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			err := CheckModule(t.Context(), quiet(), module.Source{Path: filepath.Join(dir, tt.path)}, true, false)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), dir+tt.want)) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// A machine may have a Python without TensorFlow. Not parallel: it sets the environment.
func TestTheMachinesOwnPythonReadsAModule(t *testing.T) {
	python := tftest.Python3(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("STOKER_PYTHON", "")
	t.Setenv("HOME", t.TempDir())
	path := filepath.Join(t.TempDir(), "m.py")
	if err := os.WriteFile(path, []byte("def run_fn(a:\n  pass\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// A folder in which python3 is not a shim that depends on another home directory.
	own := t.TempDir()
	real, err := exec.Command(python, "-c", "import sys; print(sys.executable)").Output()
	if err == nil {
		err = os.Symlink(strings.TrimSpace(string(real)), filepath.Join(own, "python3"))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", own)
	err = CheckModule(t.Context(), quiet(), module.Source{Path: path}, true, false)
	if err == nil || !strings.Contains(err.Error(), path+":1:11: SyntaxError: ") || !strings.Contains(err.Error(), "of this machine)") {
		t.Errorf("%v", err)
	}
	folder := filepath.Dir(path)
	if err := CheckUpload(t.Context(), quiet(), folder); err == nil || !strings.Contains(err.Error(), "m.py:1:11: SyntaxError") {
		t.Errorf("uploaded: %v", err)
	}
	if err := os.WriteFile(path, []byte("print 'no module'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := CheckUpload(t.Context(), quiet(), folder); err != nil {
		t.Errorf("a folder that is no module: %v", err)
	}
	// The workers' Python may have it.
	if err := os.WriteFile(path, []byte("from other import run_fn\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var notes strings.Builder
	err = CheckModule(t.Context(), noting(&notes), module.Source{Path: path}, true, false)
	if want := path + ":1:1: run_fn is imported from other, which is not in the module's files: the Python of the workers must have it\n"; err != nil || !strings.Contains(notes.String(), want) {
		t.Errorf("%v, %s, want %s", err, &notes, want)
	}
}

// noting returns an app whose notes go to w.
func noting(w io.Writer) *app.App { return &app.App{Stderr: terminal.NewStream(w)} }

func quiet() *app.App { return noting(io.Discard) }
