package builtin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// courseFile stands beside a trial's checkpoints, so that an attempt that goes on from one of them can tell what was measured
// before it.
const courseFile = "course.json"

// keptCourse is what it holds. The trial's number tells it from that of a parent, which is not this trial's to tell.
type keptCourse struct {
	Trial  string     `json:"trial"`
	Course []measured `json:"course"`
}

// resume reads the course so far.
func (t *trial) resume() error {
	if t.dir == "" {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(t.dir, courseFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var before keptCourse
	if err == nil {
		err = json.Unmarshal(text, &before)
	}
	if err != nil {
		return fmt.Errorf("what was measured of the trial before: %w", err)
	}
	if before.Trial == t.assignment.Trial.ID {
		t.course = before.Course
	}
	return nil
}

// tell reports the course of an attempt before this one, once it is known which step this one takes first: what was measured behind its
// checkpoint will be measured again.
func (t *trial) tell(step int) {
	if t.told {
		return
	}
	t.told = true
	t.course = slices.DeleteFunc(t.course, func(m measured) bool { return m.Step > step || m.Step == step && step < t.steps })
	for _, m := range t.course {
		t.say(m)
	}
}

// keep writes the course that goes with a checkpoint, whole or not at all. Without it an attempt after this one tells less, and ends
// with the same metrics.
func (t *trial) keep() {
	if t.dir == "" {
		return
	}
	text, err := json.Marshal(keptCourse{t.assignment.Trial.ID, t.course})
	if err == nil {
		err = os.MkdirAll(t.dir, 0o755)
	}
	path := filepath.Join(t.dir, courseFile)
	if err == nil {
		err = os.WriteFile(path+".new", text, 0o644)
	}
	if err == nil {
		_ = os.Rename(path+".new", path)
	}
}
