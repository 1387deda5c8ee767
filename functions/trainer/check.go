package trainer

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"

	"github.com/stoker-ml/stoker/compute/export"
	"github.com/stoker-ml/stoker/compute/savedmodel"
	"github.com/stoker-ml/stoker/events"
)

// check refuses what is no model, what lacks a format that was asked for, and what could not be published or told of: after the
// commit it would be too late. TFX takes an empty folder for a model.
func (t *Trainer) check(a attempt) error {
	a.Report(events.Progress{Phase: "checking"})
	serving := a.assignment.ServingModelDir
	if err := savedmodel.Check(serving); err != nil {
		return checkFailure(fmt.Errorf("%s: %w", filepath.Base(serving), err))
	}
	if err := export.Check(filepath.Dir(serving), a.assignment.Exports); err != nil {
		return checkFailure(err)
	}
	if err := checkFiles(a.desk.out()); err != nil {
		return checkFailure(err)
	}
	return checkStory(tell(a, a.started))
}

func checkFailure(err error) error { return events.Fail(events.FailureCheck, err) }

// plainPath is a file name that every object store and every reader of facts takes.
var plainPath = regexp.MustCompile(`^[^\x00-\x1f\x7f]+$`)

// checkFiles refuses what an object store has no word for: links, pipes, names with control characters.
func checkFiles(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if !plainPath.MatchString(name) {
			return fmt.Errorf("%q: a name with control characters can't be published", name)
		}
		if !entry.Type().IsRegular() {
			return fmt.Errorf("%s: is no regular file and can't be published", name)
		}
		return nil
	})
}

// maxStoryBytes is what a fact may carry of what the module reported: a quarter of what NATS takes by default.
const maxStoryBytes = 256 << 10

// checkStory refuses what would make a fact that no bus takes.
func checkStory(s story) error {
	text, err := json.Marshal(s)
	if err != nil {
		return checkFailure(fmt.Errorf("what the module reported: %w", err))
	}
	if len(text) > maxStoryBytes {
		return checkFailure(fmt.Errorf("metrics, inputs and hyperparameters have %d bytes, more than the %d that a fact may carry", len(text), maxStoryBytes))
	}
	return nil
}
