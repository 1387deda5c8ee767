package examplegen_test

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/data/examplegen"
)

const keptParquet = "testdata/parquet_example_gen.json.gz"

// parquetAnswer is a file, and the records that TFX makes from it
// (testdata/parquet_example_gen.py).
type parquetAnswer struct {
	File    []byte   `json:"file"`
	Records [][]byte `json:"records"`

	RunLengthBooleans bool `json:"run_length_booleans"` // which are refused
}

func keptParquetAnswers(t *testing.T) (all []parquetAnswer) {
	t.Helper()
	f, err := os.Open(keptParquet)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(z).Decode(&all); err != nil {
		t.Fatal(err)
	}
	return all
}

// The Examples of random Parquet files are those of TFX's ParquetExampleGen, byte for byte.
func TestMakesTheRecordsOfParquetExampleGen(t *testing.T) {
	t.Parallel()
	all := keptParquetAnswers(t)
	if len(all) != parquetFiles {
		t.Fatalf("%d files are kept, expected %d", len(all), parquetFiles)
	}
	refused := 0
	for i, answer := range all {
		path := filepath.Join(t.TempDir(), fmt.Sprint(i, ".parquet"))
		if err := os.WriteFile(path, answer.File, 0o644); err != nil {
			t.Fatal(err)
		}
		to := t.TempDir()
		_, err := examplegen.Convert(t.Context(), path, to, examplegen.Options{Splits: []examplegen.Split{{Name: "all", Buckets: 1}}})
		if answer.RunLengthBooleans {
			refused++
			if !errors.Is(err, example.ErrInput) || !strings.Contains(err.Error(), `column "bool": its booleans are run-length encoded`) {
				t.Errorf("file %d: %v", i, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("file %d: %v", i, err)
			continue
		}
		var want []string
		for _, record := range answer.Records {
			want = append(want, string(record))
		}
		if diff := cmp.Diff(want, records(t, filepath.Join(to, "Split-all", "*"))); diff != "" {
			t.Errorf("file %d: -TFX +ours\n%s", i, diff)
		}
	}
	if refused == 0 || refused > parquetFiles/3 {
		t.Errorf("%d files with run-length encoded booleans", refused)
	}
}

const parquetFiles = 60
