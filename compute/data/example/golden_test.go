package example_test

import (
	"bufio"
	"encoding/json"
	"io"
	"testing"
)

// goldenLine is one line of golden.jsonl: TensorFlow's call of the model that TFX's Trainer made.
type goldenLine struct {
	Example     []byte                 `json:"example_b64"`
	Transformed map[string][][]float64 `json:"transform_features"`
}

func goldenLines(t *testing.T, r io.Reader) (lines []goldenLine) {
	t.Helper()
	for in := bufio.NewScanner(r); in.Scan(); {
		var line goldenLine
		if err := json.Unmarshal(in.Bytes(), &line); err != nil {
			if len(lines) < 100 {
				t.Fatal(err)
			}
			break // lines with "Infinity", a string, follow the eval split
		}
		lines = append(lines, line)
	}
	return lines
}
