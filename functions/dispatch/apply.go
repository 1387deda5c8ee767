package dispatch

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// Apply deploys a pipeline: from now on new runs use it. It returns the pipeline's revision, and whether it is a new one; an
// equal pipeline is left as it is.
func Apply(ctx context.Context, box events.Letterbox, p pipeline.Pipeline) (revision uint64, changed bool, err error) {
	pipelines, err := box.Register(ctx, events.RegisterPipelines)
	if err != nil {
		return 0, false, fmt.Errorf("open pipelines: %w", err)
	}
	value, err := p.JSON()
	if err != nil {
		return 0, false, fmt.Errorf("pipeline %s: %w", p.Name, err)
	}
	for pause := (events.Pause{}); ; {
		revision, changed, err = swap(ctx, pipelines, p.Name, value)
		if !errors.Is(err, events.ErrConflict) {
			return revision, changed, err
		}
		if err := pause.Wait(ctx); err != nil {
			return 0, false, fmt.Errorf("apply pipeline %s: %w", p.Name, err)
		}
	}
}

// swap writes value once, over what is there now. That an equal value is there already is made sure
// of: no write of ours would be refused if it were not the newest.
func swap(ctx context.Context, pipelines events.Register, name string, value []byte) (uint64, bool, error) {
	entry, err := pipelines.Get(ctx, name)
	if err == nil && bytes.Equal(entry.Value, value) {
		if err = pipelines.Sync(ctx); err == nil {
			entry, err = pipelines.Get(ctx, name)
		}
	}
	switch {
	case errors.Is(err, events.ErrNotFound):
		revision, err := pipelines.Create(ctx, name, value)
		return revision, true, err
	case err != nil:
		return 0, false, fmt.Errorf("read pipeline %s: %w", name, err)
	case bytes.Equal(entry.Value, value):
		return entry.Revision, false, nil
	}
	revision, err := pipelines.Update(ctx, name, value, entry.Revision)
	return revision, true, err
}
