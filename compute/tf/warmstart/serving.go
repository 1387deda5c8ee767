package warmstart

import (
	"fmt"
	"os"
	"path/filepath"
)

// Serving returns the directory of the SavedModel in a Model artifact of TFX, by the rule of TFX's
// own path_utils: Format-Serving, or, if an Estimator exported it,
// Format-Serving/export/<exporter>/<version>, each of which must be the only one. Artifacts from
// before TFX 0.29 have serving_model_dir instead of Format-Serving. If path is no Model artifact,
// it is path itself.
func Serving(path string) (string, error) {
	for _, name := range []string{"Format-Serving", "serving_model_dir"} {
		if isDir(filepath.Join(path, name)) {
			path = filepath.Join(path, name)
			break
		}
	}
	if !isDir(filepath.Join(path, "export")) {
		return path, nil
	}
	path = filepath.Join(path, "export")
	for range 2 {
		entries, err := os.ReadDir(path)
		if err != nil {
			return "", err
		}
		if len(entries) != 1 {
			return "", fmt.Errorf("%s holds %d entries, expected one: which to take can't be known", path, len(entries))
		}
		path = filepath.Join(path, entries[0].Name())
	}
	return path, nil
}
