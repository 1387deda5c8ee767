package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/storage"
)

// storeProbe checks once that a worker's store honors conditional writes.
type storeProbe struct {
	store  storage.Store
	root   storage.Ref
	log    *slog.Logger
	passed atomic.Bool
}

// await probes until the store has answered. A store that is unavailable when the worker starts is
// waited for; one that refuses, or that does not honor conditions, ends the worker. It returns nil
// when ctx has ended: that asks a worker to stop, and has no job.
func (p *storeProbe) await(ctx context.Context) error {
	err := storage.AwaitProbe(ctx, p.store, p.root, func(err error, wait time.Duration) {
		p.log.WarnContext(ctx, "object store is not available; probing again", "again_in", wait, "error", err)
	})
	switch {
	case err == nil:
		p.passed.Store(true)
		return nil
	case ctx.Err() != nil:
		return nil
	}
	return exit.Unreachable(fmt.Errorf("object store: %w", err))
}

var errNotProbed = errors.New("object store is not probed yet")

// need is for readiness: a worker is ready once its store has passed, and while the store answers.
func (p *storeProbe) need(ctx context.Context) error {
	if !p.passed.Load() {
		return errNotProbed
	}
	return storeNeed(p.store, p.root)(ctx)
}

// withinInputs keeps a worker's hands off what lies elsewhere than in root and in the places that the settings name, whatever address a
// event or a pipeline brings. Where they name none, the store's own policy alone decides.
func withinInputs(a *app.App, store storage.Store, root storage.Ref) (storage.Store, error) {
	places, err := a.Inputs()
	if err != nil || len(places) == 0 {
		return store, err
	}
	return storage.Within(store, append([]storage.Ref{root}, places...)...), nil
}
