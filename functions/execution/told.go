package execution

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
)

// CheckTold refuses what can't be published or told of: after the commit it would be too late.
func (a *Attempt) CheckTold(story any) error {
	if err := checkFiles(a.Desk.Out()); err != nil {
		return CheckFailure(err)
	}
	return CheckStory(story)
}

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

// CheckStory refuses what would make a fact that no bus takes.
func CheckStory(story any) error {
	text, err := json.Marshal(story)
	if err != nil {
		return CheckFailure(fmt.Errorf("what the module reported: %w", err))
	}
	if len(text) > maxStoryBytes {
		return CheckFailure(fmt.Errorf("metrics, inputs and hyperparameters have %d bytes, more than the %d that a fact may carry",
			len(text), maxStoryBytes))
	}
	return nil
}
