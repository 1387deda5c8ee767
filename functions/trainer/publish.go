package trainer

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/storage"
)

// publish sends the outputs and then the manifest. Nobody takes notice of them before the commit.
func (t *Trainer) publish(ctx context.Context, a attempt) (storage.Manifest, error) {
	a.Report(events.Progress{Phase: "publishing"})
	told, err := json.Marshal(tell(a, t.opts.Now()))
	if err != nil {
		return storage.Manifest{}, checkFailure(fmt.Errorf("what the module reported: %w", err))
	}
	manifest, err := storage.Publish(ctx, t.store, storage.Publication{
		Root: a.execution.root, Execution: a.execution.id, Attempt: a.Attempt.ID, Result: told,
		Outputs: map[string]storage.Source{
			"model":     {Type: "Model", Dir: a.desk.out("model")},
			"model_run": {Type: "ModelRun", Dir: a.desk.out("model_run")},
		},
	})
	if err != nil {
		return storage.Manifest{}, storeFailure(err)
	}
	return manifest, nil
}
