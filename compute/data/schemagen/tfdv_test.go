//go:build tfma

package schemagen_test

import (
	_ "embed"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

//go:embed testdata/tfdv.py
var tfdvScript string

// The stored results are those of TensorFlow Data Validation. STOKER_TENSORFLOW=record stores them
// anew.
func TestTensorFlowDataValidationStillSaysSo(t *testing.T) {
	t.Parallel()
	var got []string
	tftest.RunAnalysis(t, tfdvScript, inferCases(), &got)
	if os.Getenv("STOKER_TENSORFLOW") == "record" {
		text, err := json.Marshal(got)
		if err == nil {
			err = writeGzip(keptSchemas, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(got, kept(t)) {
		t.Errorf("%s is not current", keptSchemas)
	}
}
