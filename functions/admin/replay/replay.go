package replay

import (
	"context"
	"log/slog"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/storage"
)

// Replay finds what is missing on a bus and in a store, and repeats it.
type Replay struct {
	bus        events.Bus
	store      storage.Store
	dispatcher *dispatch.Dispatcher
}

// New opens the buckets that a replay needs. log may be nil.
func New(ctx context.Context, bus events.Bus, store storage.Store, log *slog.Logger) (*Replay, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	dispatcher, err := dispatch.New(ctx, bus, log)
	if err != nil {
		return nil, err
	}
	return &Replay{bus: bus, store: store, dispatcher: dispatcher}, nil
}
