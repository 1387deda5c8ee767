package gc

import (
	"context"
	"encoding/json"
	"fmt"

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
		var lease events.Lease
		if err := json.Unmarshal(entry.Value, &lease); err != nil {
			return nil, fmt.Errorf("lease of job %s: %w", entry.Key, err)
		}
		if lease.Holder != "" {
			holders[lease.Holder] = true
		}
	}
	return holders, nil
}
