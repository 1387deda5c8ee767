package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/storage"
)

// checkBlessed refuses a model.blessed whose address is no model of the event's pipeline: no run would start from it. A model
// that the log announces is one; otherwise the store decides. Without a store the event is published with a note.
func (a *app) checkBlessed(ctx context.Context, box events.Letterbox, event events.Fact, blessed *events.ModelBlessed) (note string, err error) {
	models, err := listModels(ctx, box, events.Query{Pipeline: event.Pipeline})
	if err != nil && !errors.Is(err, events.ErrRefused) {
		return "", err
	}
	address := strings.TrimRight(blessed.Model, "/")
	for _, model := range models {
		if model.Model == address {
			return "", nil
		}
	}
	if at, err := a.storeTarget(); err != nil {
		return notChecked(address), nil
	} else if _, err := at.Store(); err != nil {
		return notChecked(address), nil
	}
	ref, err := storage.ParseRef(address)
	if err != nil {
		return "", err
	}
	made, byStoker := storage.ExecutionAt(address)
	var stored storage.Listing
	err = a.withStore(ctx, func(ctx context.Context, store storage.Store, _ storage.Ref) (err error) {
		stored, err = storage.List(ctx, store, ref)
		return err
	})
	switch hint := "`" + a.command("models --pipeline "+event.Pipeline) + "` lists its models, --anyway publishes the event all the same"; {
	case errors.Is(err, storage.ErrNotFound):
		return "", exit.NotFound(fmt.Errorf("%s of pipeline %s: nothing is stored at %s: %s", event.Data.Kind(), event.Pipeline, address, hint))
	case err != nil:
		return fmt.Sprintf("not checked whether %s is a model: %v", address, err), nil // publishers need no access to the store
	case !byStoker || stored.Out == nil || stored.Out.Type != "Model":
		return "", fmt.Errorf("%s of pipeline %s: %s is no model that Stoker has trained: %s", event.Data.Kind(), event.Pipeline, address, hint)
	case path.Base(path.Dir(made.Root.Key)) != event.Pipeline: // <root>/<pipeline>/<component>
		return "", fmt.Errorf("%s of pipeline %s: %s is a model of another pipeline: %s", event.Data.Kind(), event.Pipeline, address, hint)
	}
	return "", nil
}

func notChecked(address string) string {
	return fmt.Sprintf("not checked whether %s is a model: the log has none of that address, and no object store is configured", address)
}
