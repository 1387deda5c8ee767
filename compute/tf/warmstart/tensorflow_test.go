package warmstart

import (
	_ "embed"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

//go:embed testdata/save.py
var saveScript string

func TestEveryWayInWhichWeightsAreSavedIsRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var weights map[string][]any
	tftest.Run(t, saveScript, dir, &weights)
	keras := []string{"dense/kernel[2 4]", "dense/bias[4]", "head/kernel[4 3]", "head/bias[3]"}
	canned := []string{"dnn/hiddenlayer_0/kernel[2 4]", "dnn/hiddenlayer_0/bias[4]", "dnn/logits/kernel[4 3]", "dnn/logits/bias[3]"}
	for name, c := range map[string]struct {
		of, path string
		names    []string
		rows     Rows // of the first kernel
	}{
		"keras 3 export":           {"keras 3", "keras 3 export", keras, Rows{"wide", "narrow"}},
		"keras 3 saved_model.save": {"keras 3", "keras 3 saved_model.save", keras, Rows{"wide", "narrow"}},
		"keras 3 checkpoint":       {"keras 3", "keras 3 checkpoint", keras, nil},
		"keras 2 save":             {"keras 2", "keras 2 save", keras, Rows{"wide", "narrow"}},
		"keras 2 save_weights":     {"keras 2", "keras 2 save_weights", keras, nil},
		"keras 2 checkpoint":       {"keras 2", "keras 2 checkpoint/written", keras, nil},
		"module":                   {"module", "module", []string{"m/layers/0/kernel[2 4]", "m/layers/0/bias[4]", "m/layers/1/kernel[4 3]", "m/layers/1/bias[3]"}, nil},
		"estimator":                {"estimator", "estimator", canned, Rows{"narrow", "wide"}},
		"estimator checkpoint":     {"estimator", "estimator checkpoint", canned, nil},
		"its prefix":               {"estimator", "estimator checkpoint/model.ckpt-7", canned, nil},
	} {
		s, err := Open(filepath.Join(dir, c.path))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(c.names, listed(s)); diff != "" {
			t.Errorf("%s: want - got +\n%s", name, diff)
			continue
		}
		if diff := cmp.Diff(c.rows, s.Rows(s.Tensors[0])); diff != "" {
			t.Errorf("%s: rows: want - got +\n%s", name, diff)
		}
		for i, tensor := range s.Tensors {
			got, exact, err := s.Values(tensor)
			if want := flat(weights[c.of][i]); err != nil || !exact || !slices.Equal(got, want) {
				t.Errorf("%s: %s is %v, %v, want %v", name, tensor.Name, got, err, want)
			}
		}
	}
	refused(t, dir)
}

// flat returns an array of any shape for JSON, row major. TensorFlow's float32 are the shortest
// decimals that are equal.
func flat(array any) []float32 {
	switch array := array.(type) {
	case float64:
		return []float32{float32(array)}
	case []any:
		var all []float32
		for _, inner := range array {
			all = append(all, flat(inner)...)
		}
		return all
	}
	return nil
}

func refused(t *testing.T, dir string) {
	t.Helper()
	for path, text := range map[string]string{
		"whole.keras":    "whole.keras is a zip in Keras's own format, which isn't read: load it with",
		"old/model.ckpt": "is a checkpoint of TensorFlow's format V1",
		"old":            "is a checkpoint of TensorFlow's format V1",
		".":              "whole.keras is a zip",
		"nothing":        "no such file or directory",
	} {
		if _, err := Open(filepath.Join(dir, path)); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: error %v, want one that says %q", path, err, text)
		}
	}
}
