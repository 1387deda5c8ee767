package trainer

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/storage"
)

// TFX's keys of a Trainer's outputs.
const (
	modelKey    = "model"
	modelRunKey = "model_run"
)

func outputs() []string { return []string{modelKey, modelRunKey} }

// publish sends the outputs and then the manifest. Nobody takes notice of them before the commit.
func (t *Trainer) publish(ctx context.Context, a attempt) (storage.Manifest, error) {
	a.Report(events.Progress{Phase: "publishing"})
	told, err := json.Marshal(tell(a, t.opts.Now()))
	if err != nil {
		return storage.Manifest{}, checkFailure(fmt.Errorf("what the module reported: %w", err))
	}
	manifest, err := storage.Publish(ctx, a.execution.fenced, storage.Publication{
		Root: a.execution.root, Execution: a.execution.id, Attempt: a.Attempt.ID, Result: told,
		Outputs: map[string]storage.Source{
			modelKey:    {Type: "Model", Dir: a.desk.out(modelKey)},
			modelRunKey: {Type: "ModelRun", Dir: a.desk.out(modelRunKey)},
		},
	})
	if err != nil {
		return storage.Manifest{}, publishFailure(err)
	}
	return manifest, nil
}
