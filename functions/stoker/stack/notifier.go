package stack

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/integrate/bridge"
	"github.com/stoker-ml/stoker/functions/runs/submit"
	"github.com/stoker-ml/stoker/local/bucket"
)

// notifier sends the store's notifications of new markers to the bus, where a bridge reads them.
// The store runs before the bus is connected; until then an upload of a marker fails, so that the
// client tries again.
type notifier struct {
	to atomic.Pointer[jetstream.Bus]
}

// sendTimeout limits how long an upload of a marker waits for the bus.
const sendTimeout = 5 * time.Second

func (n *notifier) send(ctx context.Context, bucket string, message []byte) error {
	bus := n.to.Load()
	if bus == nil {
		return errors.New("the bus is not open yet")
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	return bus.Notify(ctx, bucket, message)
}

// notifications returns the configuration of the store. Without a bridge it is the zero value,
// which sends none.
func (n *notifier) notifications(opts *bridge.Options) bucket.Notifications {
	if opts == nil {
		return bucket.Notifications{}
	}
	return bucket.Notifications{Suffix: cmp.Or(opts.Marker, bridge.DefaultMarker), Send: n.send}
}

// runBridge runs a bridge until ctx ends, if one is requested.
func (s *Stack) runBridge(ctx context.Context, opts Options) error {
	if opts.Bridge == nil {
		return nil
	}
	chosen := *opts.Bridge
	chosen.Logger, chosen.Telemetry = cmp.Or(chosen.Logger, opts.Logger), opts.Telemetry
	bus := opts.Telemetry.Bus(s.Bus)
	chosen.Checker = submit.NewChecker(bus, false, chosen.Logger)
	b, err := bridge.New(bus, s.Store, chosen)
	if err != nil {
		return err
	}
	return b.Run(ctx)
}
