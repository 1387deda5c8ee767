package skew

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// "NaN" is a number where the model answers with numbers, and a word where it answers with words.
func TestWhatAPredictionIsGoesByWhatIsServed(t *testing.T) {
	t.Parallel()
	numbers, texts := values{floats: []float64{}}, values{texts: []string{}}
	for line, c := range map[string]struct {
		served values
		want   string
	}{
		`{"y": [1, "NaN"]}`:              {numbers, "[1 NaN]"},
		`{"y": ["-Infinity", "NaN"]}`:    {numbers, "[-Inf NaN]"},
		`{"y": ["-Infinity", "Gentoo"]}`: {numbers, `["-Infinity" "Gentoo"]`},
		`{"y": ["NaN"]}`:                 {texts, `["NaN"]`},
		`{"y": ["1", {"b64": "/w=="}]}`:  {texts, `["1" "\xff"]`},
		`{"y": [1, "Gentoo"]}`:           {want: `line 1: output "y" holds numbers and strings`},
		`{"y": [null]}`:                  {want: "line 1: expected a number or a string, got null"},
		`{"y": [{"b64": "?"}]}`:          {want: "line 1: expected a number or a string, got {"},
	} {
		path := filepath.Join(t.TempDir(), "predictions.jsonl")
		if err := os.WriteFile(path, []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
		rows, err := readPredictions(path, 1)
		switch {
		case err != nil && !strings.Contains(err.Error(), c.want):
			t.Errorf("%s: %v", line, err)
		case err == nil && written(rows[0]["y"].like(c.served)) != c.want:
			t.Errorf("%s is %v, want %s", line, rows[0]["y"].like(c.served), c.want)
		}
	}
}

// written is like String, except that it returns texts as they are.
func written(v values) string {
	if v.texts != nil {
		return fmt.Sprintf("%q", v.texts)
	}
	return v.String()
}

// A module may leave any kind of file: a pipe would block the check until its time is over, and a
// link may lead to files of others.
func TestAnswersOfAModuleAreReadFromRegularFilesAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	other, link := filepath.Join(dir, "other"), filepath.Join(dir, "predictions.jsonl")
	if err := errors.Join(os.WriteFile(other, []byte(`{"out": [1]}`), 0o600), os.Symlink(other, link)); err != nil {
		t.Fatal(err)
	}
	if rows, err := readPredictions(link, 1); err == nil {
		t.Errorf("predictions: read %v through a link", rows)
	}
	if m, err := readMemory(link); err == nil {
		t.Errorf("memory: read %v through a link", m)
	}
}
