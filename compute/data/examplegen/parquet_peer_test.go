//go:build tfma

package examplegen_test

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

//go:embed testdata/parquet_example_gen.py
var parquetScript string

// The stored results are those of TFX's own code. STOKER_TENSORFLOW=record stores them anew.
func TestParquetExampleGenStillSaysSo(t *testing.T) {
	t.Parallel()
	seeds := make([]int, parquetFiles)
	for i := range seeds {
		seeds[i] = i
	}
	var got []parquetAnswer
	tftest.RunAnalysis(t, parquetScript, seeds, &got)
	if os.Getenv("STOKER_TENSORFLOW") == "record" {
		text, err := json.Marshal(got)
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		if err == nil {
			_, err = z.Write(text)
		}
		if err = errors.Join(err, z.Close(), os.WriteFile(keptParquet, packed.Bytes(), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for i, answer := range keptParquetAnswers(t) {
		if diff := cmp.Diff(answer.Records, got[i].Records); diff != "" {
			t.Errorf("%s is not current, file %d: %s", keptParquet, i, diff)
		}
	}
}
