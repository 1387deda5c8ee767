package builtin

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/functions/module"
)

func TestTrialsOfAStudyReadTheirDataOnce(t *testing.T) {
	t.Parallel()
	a := cachedTrial(t)
	k := &dataCache{}
	first := readData(t, k, a)
	if readData(t, k, a) != first {
		t.Error("the next trial read them again")
	}
	for what, change := range map[string]func(a *module.Assignment){
		"another study": func(a *module.Assignment) { a.Trial = &module.Trial{Study: "another"} },
		"another label": func(a *module.Assignment) { a.CustomConfig = map[string]any{"label": "culmen_depth_mm"} },
		"no trial":      func(a *module.Assignment) { a.Trial = nil },
		"no study":      func(a *module.Assignment) { a.Trial = &module.Trial{} },
		"other files": func(a *module.Assignment) {
			later := time.Now().Add(time.Hour)
			if err := os.Chtimes(a.TrainFiles[0], later, later); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			first, other := readData(t, k, a), a
			change(&other)
			if readData(t, k, other) == first {
				t.Error("it is taken for the same data")
			}
		})
	}
}

func cachedTrial(t *testing.T) module.Assignment {
	t.Helper()
	file := filepath.Join(t.TempDir(), "data_tfrecord-00000-of-00001.gz")
	found, err := filepath.Glob("../../../compute/data/example/testdata/penguin/examples/Split-eval/*")
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	text, err := os.ReadFile(found[0])
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	schema, err := filepath.Abs("../../../compute/data/example/testdata/penguin/schema/schema.pbtxt")
	if err != nil {
		t.Fatal(err)
	}
	return module.Assignment{
		Module: module.Source{Path: "builtin:dnn"}, Call: module.CallTrial, Trial: &module.Trial{Study: "c0ffee"}, TrainSteps: new(1),
		SchemaPath: schema, TrainFiles: []string{file}, EvalFiles: []string{file}, CustomConfig: map[string]any{"label": "species"},
	}
}

func readData(t *testing.T, k *dataCache, a module.Assignment) *data {
	t.Helper()
	c, err := newConfig("dnn", a, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	d, err := k.read(t.Context(), c, a)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
