package search

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/functions/guest"
)

// curvesFile is in what a trial leaves for another attempt at it: what it had reported by then. Who goes on from the state goes on with
// these, or the trial would be judged without its first steps. It is in the module's folder only while that is copied.
const curvesFile = ".stoker-curves.json"

// maxCurves is what the curves of a trial take, at most: far more than any report.
const maxCurves = 64 << 20

// openWorking opens the folder of a trial, which is <trials>/<trial>/<folder>: below trials, modules may put links.
func openWorking(dir string) (*os.Root, error) {
	return guest.OpenFolder(filepath.Dir(filepath.Dir(dir)), dir)
}

// With has the curves in the folder of a trial while do copies it.
func (c Curves) With(dir string, do func() error) error {
	root, err := openWorking(dir)
	if err != nil {
		return unavailable(err)
	}
	defer root.Close()
	text, err := json.Marshal(c)
	if err == nil {
		err = guest.WriteRegular(root, curvesFile, text)
	}
	if err != nil {
		return unavailable(err)
	}
	if err := do(); err != nil {
		return err
	}
	if err := root.Remove(curvesFile); err != nil {
		return unavailable(err)
	}
	return nil
}

// TakeCurves are those that came with a state which was laid out in the folder of a trial; none if it has none.
func TakeCurves(dir string) Curves {
	root, err := openWorking(dir)
	if err != nil {
		return Curves{}
	}
	defer root.Close()
	text, err := guest.ReadRegular(root, curvesFile, maxCurves)
	kept := map[string][]tune.Point{}
	if err != nil || errors.Join(json.Unmarshal(text, &kept), root.Remove(curvesFile)) != nil {
		return Curves{}
	}
	return kept
}
