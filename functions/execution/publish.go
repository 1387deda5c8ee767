package execution

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/telemetry"
	"github.com/stoker-ml/stoker/storage"
)

// Without has Publish leave one of the outputs out, of which there is nothing to publish.
func (a *Attempt) Without(key string) {
	a.Execution.outputs = maps.Clone(a.Execution.outputs)
	delete(a.Execution.outputs, key)
}

// Publish sends the outputs and then the manifest, which holds the story: what there is to tell besides. Nobody takes notice
// of them before the commit.
func (a *Attempt) Publish(ctx context.Context, story any) (_ storage.Manifest, err error) {
	ctx, span := telemetry.Start(ctx, "publish")
	defer span.End(&err)
	a.Report(events.Progress{Phase: "publishing"})
	told, err := json.Marshal(story)
	if err != nil {
		return storage.Manifest{}, CheckFailure(fmt.Errorf("what the module reported: %w", err))
	}
	outputs := map[string]storage.Source{}
	for key, kind := range a.Execution.outputs {
		outputs[key] = storage.Source{Type: kind, Dir: a.Desk.Out(key)}
	}
	manifest, err := storage.Publish(ctx, a.Execution.fenced, storage.Publication{
		Root: a.Execution.root, Execution: a.Execution.ID, Attempt: a.Task.Attempt.ID, Result: a.storyAtAddress(told), Outputs: outputs,
	})
	if err != nil {
		return storage.Manifest{}, publishFailure(err)
	}
	return manifest, nil
}

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
