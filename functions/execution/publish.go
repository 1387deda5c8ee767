package execution

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

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
