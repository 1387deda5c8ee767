package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

func TestAModuleWithoutTunerFnIsToldOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"def run_fn(fn_args): pass":                          true,
		"def run_fn(a): pass\ndef tuner_fn(fn_args): pass":   false,
		"from tuning import tuner_fn\ndef run_fn(a): pass\n": false,
	} {
		path := filepath.Join(t.TempDir(), "penguins.py")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for tuner, tunes := range map[string]bool{"tuner: {when: always}": true, "tuner: {when: never}": false} {
			spec, err := pipeline.Parse("p.yaml", []byte("pipeline: p\nmodule: "+path+"\n"+tuner+"\n"))
			if err != nil {
				t.Fatal(err)
			}
			var said strings.Builder
			if err := (&app{stderr: terminal.NewStream(&said)}).warnOfNoTuner(t.Context(), spec); err != nil || strings.Contains(said.String(), "tuner_fn") != (want && tunes) {
				t.Errorf("%s, %s: said %q, %v", text, tuner, said.String(), err)
			}
		}
	}
}
