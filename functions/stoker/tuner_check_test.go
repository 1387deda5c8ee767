package main

import (
	"errors"
	"os"
	"path/filepath"
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
