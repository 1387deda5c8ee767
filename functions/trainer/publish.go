package trainer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/storage"
)

// result is a committed execution: its artifacts and what was told of it.
type result struct {
	manifest storage.Manifest
	story    story
}

// committed finds the execution done already: a cache hit. nil means that there is work to do. A commit whose objects are
// gone is no hit: it is remembered in e, to be replaced.
func (t *Trainer) committed(ctx context.Context, e *execution) (*result, error) {
	commit, manifest, err := storage.Committed(ctx, t.store, e.root, e.id)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return nil, nil
	case errors.Is(err, storage.ErrIncomplete):
		t.opts.Logger.Warn("a committed execution has lost files; it is done again", "execution", e.id, "error", err)
		e.broken = &commit
		return nil, nil
	case err != nil:
		return nil, events.Fail(events.FailureUnavailable, fmt.Errorf("look up execution: %w", err))
	case commit.Cancelled:
		return nil, events.Fail(events.FailureCancelled, errors.New("this execution was cancelled"))
	}
	return recall(manifest)
}

// publish sends the outputs and then the manifest. Nobody takes notice of them before the commit.
func (t *Trainer) publish(ctx context.Context, task worker.Task, e execution, d desk, s story) (storage.Manifest, error) {
	task.Report(events.Progress{Phase: "publishing"})
	told, err := json.Marshal(s)
	if err != nil {
		return storage.Manifest{}, events.Fail(events.FailureModule, fmt.Errorf("what the module reported: %w", err))
	}
	manifest, err := storage.Publish(ctx, t.store, storage.Publication{
		Root: e.root, Execution: e.id, Attempt: task.Attempt.ID, Result: told,
		Outputs: map[string]storage.Source{
			"model":     {Type: "Model", Dir: d.out("model")},
			"model_run": {Type: "ModelRun", Dir: d.out("model_run")},
		},
	})
	if err != nil {
		return storage.Manifest{}, storeFailure(err)
	}
	return manifest, nil
}

// recall reads what a manifest's attempt had to tell.
func recall(manifest storage.Manifest) (*result, error) {
	r := result{manifest: manifest}
	if err := json.Unmarshal(manifest.Result, &r.story); err != nil {
		return nil, inputFailure(fmt.Errorf("manifest of execution %s: result: %w", manifest.Execution, err))
	}
	return &r, nil
}
