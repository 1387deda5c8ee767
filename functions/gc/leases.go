package gc

import (
	"context"

	"github.com/stoker-ml/stoker/events"
)

// leased are the attempts that hold a lease: whoever they are, they may be at work.
func leased(ctx context.Context, box events.Letterbox) (map[string]bool, error) {
	leases, err := box.Register(ctx, events.RegisterLeases)
	if err != nil {
		return nil, err
	}
	holders := map[string]bool{}
	for entry, err := range leases.All(ctx) {
		if err != nil {
			return nil, err
		}
		lease, err := events.DecodeLease(entry)
		if err != nil {
			return nil, err
		}
		if lease.Holder != "" {
			holders[lease.Holder] = true
		}
	}
	return holders, nil
}
