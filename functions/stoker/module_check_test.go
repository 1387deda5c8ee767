package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tftest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// Not parallel: it has a cache folder of its own.
func TestASyntaxErrorIsToldBeforeAnythingIsApplied(t *testing.T) {
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
	wrong := filepath.Join(dir, "bad.py") + ":2: SyntaxError: "
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
		err := (&app{stderr: terminal.NewStream(io.Discard)}).checkModule(t.Context(), tt.source)
		if (tt.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}
