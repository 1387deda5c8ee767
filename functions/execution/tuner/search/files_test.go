package search

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The files in testdata were written by TFX 1.16.
func TestTheFilesOfTFXAreRead(t *testing.T) {
	t.Parallel()
	values, err := readFile(filepath.Join("testdata", bestFile), readBest)
	if err != nil || values["learning_rate"] == nil || values["num_layers"] == nil {
		t.Errorf("values %v, %v", values, err)
	}
	scores, err := readFile(filepath.Join("testdata", resultsFile), readResults)
	if err != nil || len(scores) != 6 || scores[0] < 0.8999 {
		t.Errorf("scores %v, %v", scores, err)
	}
}

func TestBestHyperparametersThatNobodyCouldReadAreRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"values": {}}`:                `no "space"`,
		`{"space": []}`:                 `no "values"`,
		`{"space": [], "values": null}`: `no "values"`,
		`{"space": [{"class_name": "Int"}], "values": {}}`:         "space: [0]",
		`{"space": [{"config": {"name": "units"}}], "values": {}}`: "space: [0]",
		`{"space": [], "values": {"units": [1]}}`:                  "values: units",
		`{"space": [], "values": {"units": NaN}}`:                  "value of units: NaN",
		`[]`: "HyperParameters returns: []",
		``:   "ends in the middle",
		`{"space": [], "values": {"units": 1}} and more`:                "something after the value",
		`{"space": [{"class_name": "Int", "config": []}], "values":{}}`: "expected an object with class_name and config",
	} {
		if _, err := readBest([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestResultsAreAListWithTheBestFirst(t *testing.T) {
	t.Parallel()
	trials := func(scores ...string) string {
		for i, score := range scores {
			scores[i] = `{"trial_id": "0", "score": ` + score + `, "units": 8}`
		}
		return "[" + strings.Join(scores, ",") + "]"
	}
	for text, want := range map[string]string{
		trials("0.9", "0.9", "0.5", "0.5", "0.1"): "",
		trials("0.1", "0.1", "0.5", "7"):          "",
		trials("-1"):                              "",
		trials("0.9", "0.5", "0.7"):               "trial 2: its score is 0.7",
		trials("1", "1", "2", "2", "1"):           "trial 4: its score is 1",
		`[]`:                                      "no completed trial",
		`null`:                                    "no completed trial",
		`{}`:                                      "cannot unmarshal",
		`[{"score": 1}]`:                          "trial 0",
		`[{"trial_id": 0, "score": 1}]`:           "trial 0",
		`[{"trial_id": "0", "score": "1"}]`:       "trial 0",
		`[null]`:                                  "trial 0",
	} {
		_, err := readResults([]byte(text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestAFileThatIsTooLongIsNotReadToItsEnd(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), resultsFile)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, maxBytes+1); err != nil { // a sparse file
		t.Fatal(err)
	}
	if _, err := readFile(path, readResults); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("%v", err)
	}
}

func FuzzFilesOfASearch(f *testing.F) {
	for _, name := range []string{bestFile, resultsFile} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if values, err := readBest(text); err == nil && values == nil {
			t.Error("no values, and no error")
		}
		if results, err := readResults(text); err == nil && len(results) == 0 {
			t.Error("no trial, and no error")
		}
	})
}
