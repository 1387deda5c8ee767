package replay

import (
	"context"
	"log/slog"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/storage"
)

// Replay looks at a bus and a store, and does again what is missing.
type Replay struct {
	box        events.Letterbox
	store      storage.Store
	dispatcher *dispatch.Dispatcher
}

// New opens what a replay needs. log may be nil.
func New(ctx context.Context, box events.Letterbox, store storage.Store, log *slog.Logger) (*Replay, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	dispatcher, err := dispatch.New(ctx, box, log)
	if err != nil {
		return nil, err
	}
	return &Replay{box: box, store: store, dispatcher: dispatcher}, nil
}
