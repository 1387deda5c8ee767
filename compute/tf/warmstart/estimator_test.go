//go:build estimator

package warmstart

import (
	_ "embed"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

//go:embed testdata/estimators.py
var estimatorsScript string

// The weights of real Estimators are read from their checkpoints, and from their exports for
// serving.
func TestEstimatorsAreRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var weights map[string]map[string][]float32
	tftest.RunEstimator(t, estimatorsScript, dir, &weights)
	for name, want := range weights {
		for _, path := range []string{name, filepath.Join(name, "Format-Serving"), filepath.Join(name, "model.ckpt-3")} {
			s, err := Open(filepath.Join(dir, path))
			if err != nil {
				t.Error(err)
				continue
			}
			got := map[string][]float32{}
			for _, tensor := range s.Tensors {
				values, _, err := s.Values(tensor)
				if err != nil {
					t.Error(err)
				}
				got[tensor.Name] = values
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: want - got +\n%s", path, diff)
			}
			// The graph of an export shows it, except an embedding in parts.
			if s.Path != filepath.Join(dir, path) && name != "deep v1" {
				rowsOfEstimator(t, name, s)
			}
		}
	}
}

// rowsOfEstimator compares what rows stand for with what the feature columns say: they are in the
// order of their names.
func rowsOfEstimator(t *testing.T, name string, s *Source) {
	t.Helper()
	shops := Rows{`company: "cab"`, `company: "taxi"`, `company: "carl"`, "company: bucket 0 for others", "company: bucket 1 for others"}
	var hours Rows
	for hour := range 24 {
		hours = append(hours, fmt.Sprintf("hour: %d", hour))
	}
	first := slices.Concat(Rows{"company, number 0", "company, number 1", "company, number 2", "fare"}, hours, Rows{"miles"})
	for weight, want := range map[string]Rows{
		"dnn/hiddenlayer_0/kernel": first, "dnn/input_from_feature_columns/input_layer/company_embedding/embedding_weights": shops,
		"linear/linear_model/company/weights": shops, "linear/linear_model/hour/weights": hours, "dnn/logits/kernel": nil,
	} {
		tensor, ok := s.find(weight)
		if diff := cmp.Diff(want, s.Rows(tensor)); ok && diff != "" {
			t.Errorf("%s: rows of %s: want - got +\n%s", name, weight, diff)
		}
	}
}
