//go:build estimator

package warm

import (
	_ "embed"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stoker-ml/stoker/compute/tftest"
)

//go:embed testdata/estimators.py
var estimatorsScript string

// What real Estimators leave is read from their checkpoints, and from what they export for serving.
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
			for _, tensor := range s.Tensors {
				t.Log(path, tensor.Name, tensor.Positional, tensor.Shape, s.Rows(tensor))
			}
		}
	}
	_ = slices.Equal[[]int]
}
