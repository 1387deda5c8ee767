package report_test

import (
	_ "embed"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/compute/tune/report"
)

//go:embed testdata/hparams.py
var hparamsPage string

// page is an answer of the server of TensorBoard's HParams page.
type page struct {
	Columns  []string
	Metrics  []string
	Sessions map[string]session
}

type session struct {
	Status  string
	HParams map[string]any
	Metrics map[string]float64
}

// A real TensorBoard shows every trial with its values and scores.
func TestTensorBoardShowsTheTrials(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := report.TensorBoard(dir, study(t), 0); err != nil {
		t.Fatal(err)
	}
	var got page
	tftest.Run(t, hparamsPage, dir, &got)
	want := page{
		Columns: []string{"depth DATA_TYPE_FLOAT64 1-3", "model DATA_TYPE_STRING mlp,cnn", "norm DATA_TYPE_BOOL True,False",
			"rate DATA_TYPE_FLOAT64 0.0001-0.1", "tuner/trial_id DATA_TYPE_UNSET"},
		Metrics: []string{"score", "val_loss"},
		Sessions: map[string]session{
			"0000": {"STATUS_SUCCESS", map[string]any{"rate": 0.001, "model": "mlp", "depth": 2.0, "norm": true},
				map[string]float64{"score": 0.25, "val_loss": 0.375}},
			"0001": {"STATUS_SUCCESS", map[string]any{"rate": 0.1, "model": "cnn", "norm": false},
				map[string]float64{"score": 0.75, "val_loss": 0.75}},
			"0002": {"STATUS_FAILURE", map[string]any{"rate": 0.05, "model": "cnn", "norm": false},
				map[string]float64{"val_loss": 0.03125}},
			"0003": {"STATUS_FAILURE", map[string]any{"rate": 0.001, "model": "mlp", "depth": 3.0, "norm": true}, map[string]float64{}},
			"0004": {"STATUS_SUCCESS", map[string]any{"rate": 0.001, "model": "mlp", "depth": 2.0, "norm": true, "tuner/trial_id": "0000"},
				map[string]float64{"score": 0.125, "val_loss": 0.125}},
			"0005": {"STATUS_SUCCESS", map[string]any{"rate": 0.01, "model": "cnn", "norm": false},
				map[string]float64{"score": 0.0625, "val_loss": 0.0625}},
			"0006": {"STATUS_UNKNOWN", map[string]any{"rate": 0.02, "model": "cnn", "norm": false}, map[string]float64{}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
