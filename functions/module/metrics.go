package module

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// WriteMetrics writes metrics.json below ModelRunDir, if there is one, for who looks there: an object of numbers by name.
func (a Assignment) WriteMetrics(metrics map[string]float64) error {
	if a.ModelRunDir == "" {
		return nil
	}
	text, err := json.MarshalIndent(metrics, "", "  ")
	if err == nil {
		err = os.MkdirAll(a.ModelRunDir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(a.ModelRunDir, "metrics.json"), append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write metrics.json: %w", err)
	}
	return nil
}
