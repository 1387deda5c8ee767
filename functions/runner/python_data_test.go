package runner_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// The examples are read by the real tfx_bsl, 234 of them in batches of 100. What then breaks is the data's fault, and
// names its file.
func TestExamplesAreReadAsTFXReadsThem(t *testing.T) {
	t.Parallel()
	path, err := filepath.Abs(filepath.Join("testdata", "read_examples.py"))
	if err != nil {
		t.Fatal(err)
	}
	a := penguinAssignment(t, module.Source{Path: path})
	broken := filepath.Join(t.TempDir(), "broken-00000")
	if err := os.WriteFile(broken, []byte("these are no records, and far too many bytes for a length"), 0o600); err != nil {
		t.Fatal(err)
	}
	a.EvalFiles = append(a.EvalFiles, broken)
	a.CustomConfig = map[string]any{"broken": broken}

	_, runErr := pythonRunner(t).Run(t.Context(), a, runner.Limits{}, nil)
	if runErr == nil || asError(t, runErr).Kind != runner.KindInput || !strings.Contains(runErr.Error(), "(broken file: "+broken+")") {
		t.Errorf("the broken file is told as %v", runErr)
	}
	text, err := os.ReadFile(filepath.Join(a.ModelRunDir, "met.json"))
	if err != nil {
		t.Fatal(err, asError(t, runErr).LogTail)
	}
	var met map[string]any
	if err := json.Unmarshal(text, &met); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"dataset": []any{100.0, 100.0, 34.0}, "record_batches": []any{[]any{100.0, true}, []any{100.0, true}, []any{34.0, true}},
		"sequences": []any{[]any{[]any{[]any{1.0}, []any{2.0}, []any{3.0}}}}, // the batches, their records, the steps, the values
		"no_schema": "Unable to create a parsing config because no schema is provided.",
	}
	if !reflect.DeepEqual(met, want) {
		t.Errorf("met %v\nwant %v", met, want)
	}
}
