package module

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// WriteMetrics writes metrics.json below ModelRunDir, if there is one: an object of numbers by name.
func (a Assignment) WriteMetrics(metrics map[string]float64) error {
	return a.writeRun("metrics.json", metrics)
}

// WriteConfusion writes confusion_matrix.json next to it: classes, their names where they are known, and counts, of which
// counts[i][j] is how many rows of class i the model takes for class j, each as many times as it weighs.
func (a Assignment) WriteConfusion(classes []string, counts [][]float64) error {
	return a.writeRun("confusion_matrix.json", struct {
		Classes []string    `json:"classes,omitempty"`
		Counts  [][]float64 `json:"counts"`
	}{classes, counts})
}

func (a Assignment) writeRun(name string, value any) error {
	if a.ModelRunDir == "" {
		return nil
	}
	text, err := json.MarshalIndent(value, "", "  ")
	if err == nil {
		err = os.MkdirAll(a.ModelRunDir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(a.ModelRunDir, name), append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
