package local

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/bridge"
	"github.com/stoker-ml/stoker/local/bucket"
)

// notices is the way from the store to the bus: what the store tells of new markers, a bridge makes facts of. The store is up
// before the bus is open; until then uploaders of markers have to try again.
type notices struct {
	to atomic.Pointer[jetstream.Letterbox]
}

// sendTimeout is how long the uploader of a marker may wait for the bus.
const sendTimeout = 5 * time.Second

func (n *notices) send(ctx context.Context, bucket string, message []byte) error {
	box := n.to.Load()
	if box == nil {
		return errors.New("the bus is not open yet")
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	return box.Notify(ctx, bucket, message)
}

// tell is how the store is told to use n, where there is a bridge.
func (n *notices) tell(opts *bridge.Options) bucket.Tell {
	if opts == nil {
		return bucket.Tell{}
	}
	return bucket.Tell{Suffix: cmp.Or(opts.Marker, bridge.DefaultMarker), Send: n.send}
}

// runBridge runs one until ctx ends, where one is wanted.
func (s *Stack) runBridge(ctx context.Context, opts Options) error {
	if opts.Bridge == nil {
		return nil
	}
	chosen := *opts.Bridge
	chosen.Logger, chosen.Telemetry = cmp.Or(chosen.Logger, opts.Logger), opts.Telemetry
	b, err := bridge.New(opts.Telemetry.Letterbox(s.Box), s.Store, chosen)
	if err != nil {
		return err
	}
	return b.Run(ctx)
}
