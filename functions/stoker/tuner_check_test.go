package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/pipeline"
)

func TestAGoModuleCanNotTune(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	golang, python := filepath.Join(dir, "golang"), filepath.Join(dir, "penguins.py")
	err := errors.Join(os.Mkdir(golang, 0o755), os.WriteFile(filepath.Join(golang, "main.go"), []byte("package main"), 0o600), os.WriteFile(python, nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		golang + "\ntuner: {when: always}":            "tuner.when: " + golang + " can't tune: tuner_fn is a TFX module's",
		golang + "\ntuner: {when: never}":             "",
		golang:                                        "",
		python + "\ntuner: {when: always}":            "",
		"s3://bkt/penguins.py\ntuner: {when: always}": "",
	} {
		spec, err := pipeline.Parse("p.yaml", []byte("pipeline: p\nmodule: "+text+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		if err := checkTuner(spec); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

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
			if err := (&app{stderr: &said}).warnOfNoTuner(t.Context(), spec); err != nil || strings.Contains(said.String(), "tuner_fn") != (want && tunes) {
				t.Errorf("%s, %s: said %q, %v", text, tuner, said.String(), err)
			}
		}
	}
}
