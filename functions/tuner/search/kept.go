package search

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/stoker-ml/stoker/compute/tune"
)

// curvesFile is in what a trial leaves for another attempt at it: what it had reported by then. Who goes on from the state goes on with
// these, or the trial would be judged without its first steps. It is in the module's folder only while that is copied.
const curvesFile = ".stoker-curves.json"

// With has the curves in a folder while do copies it.
func (c Curves) With(dir string, do func() error) error {
	text, err := json.Marshal(c)
	path := filepath.Join(dir, curvesFile)
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		return unavailable(err)
	}
	if err := do(); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil {
		return unavailable(err)
	}
	return nil
}

// TakeCurves are those that came with a state which was laid out in a folder; none if it has none.
func TakeCurves(dir string) Curves {
	path := filepath.Join(dir, curvesFile)
	text, err := os.ReadFile(path)
	kept := map[string][]tune.Point{}
	if err != nil || errors.Join(json.Unmarshal(text, &kept), os.Remove(path)) != nil {
		return Curves{}
	}
	return kept
}
