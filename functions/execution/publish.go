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
	"github.com/stoker-ml/stoker/functions/runs/result"
	"github.com/stoker-ml/stoker/functions/telemetry"
	"github.com/stoker-ml/stoker/storage"
)

// check has the component check the outputs, then refuses outputs that can't be published or
// announced, because after the commit it would be too late.
func (a *Attempt) check(ctx context.Context, work Work) (result.Result, error) {
	made, err := work.Check(ctx)
	if err != nil {
		return made, err
	}
	if err := checkFiles(a.Workspace.Out()); err != nil {
		return made, CheckFailure(err)
	}
	return made, ValidateResult(made)
}

// plainPath matches the file names that every object store and every reader of events accepts.
var plainPath = regexp.MustCompile(`^[^\x00-\x1f\x7f]+$`)

// checkFiles refuses files that an object store can't hold: links, pipes, and names with control
// characters.
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
			return fmt.Errorf("%q: file names with control characters can't be published", name)
		}
		if !entry.Type().IsRegular() {
			return fmt.Errorf("%s: not a regular file, which can't be published", name)
		}
		return nil
	})
}

// ValidateResult refuses a result that is too large for an event.
func ValidateResult(made result.Result) error {
	if err := made.CheckSize(); err != nil {
		return CheckFailure(err)
	}
	return nil
}

// Without has publish leave out an output that the attempt doesn't have.
func (a *Attempt) Without(key string) {
	a.Execution.Outputs = maps.Clone(a.Execution.Outputs)
	delete(a.Execution.Outputs, key)
}

// publish uploads the outputs and then the manifest, which holds the result. No reader uses them
// before the commit.
func (a *Attempt) publish(ctx context.Context, made result.Result) (_ storage.Manifest, err error) {
	ctx, span := telemetry.Start(ctx, "publish")
	defer span.End(&err)
	a.Report(events.Progress{Phase: "publishing"})
	made.Finished = a.executor.opts.Now()
	text, err := json.Marshal(made)
	if err != nil {
		return storage.Manifest{}, CheckFailure(fmt.Errorf("result of the module: %w", err))
	}
	outputs := map[string]storage.Source{}
	for key, kind := range a.Execution.Outputs {
		outputs[key] = storage.Source{Type: kind, Dir: a.Workspace.Out(key)}
	}
	manifest, err := storage.Publish(ctx, a.Execution.fenced, storage.Publication{
		Root: a.Execution.root, Execution: a.Execution.ID, Attempt: a.Task.Attempt.ID, Result: a.resultAtAddress(text), Outputs: outputs,
	})
	if err != nil {
		return storage.Manifest{}, publishFailure(err)
	}
	return manifest, nil
}
