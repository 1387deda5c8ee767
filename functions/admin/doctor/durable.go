package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// syncs is what a NATS server's /varz says of when it writes to disk.
type syncs struct {
	JetStream struct {
		Config struct {
			SyncAlways   bool          `json:"sync_always"`
			SyncInterval time.Duration `json:"sync_interval"` // nanoseconds
		} `json:"config"`
	} `json:"jetstream"`
}

// Durable asks a NATS server's monitoring endpoint whether what it acknowledges is on its disk. Clients of the bus can't ask
// that. Where no endpoint is named it finds nothing.
func Durable(monitor string) Check {
	return Func("durability", func(ctx context.Context) []Finding {
		if monitor == "" {
			return nil
		}
		if !strings.Contains(monitor, "://") {
			monitor = "http://" + monitor
		}
		found, err := askSyncs(ctx, strings.TrimSuffix(monitor, "/")+"/varz")
		if err != nil {
			return []Finding{Warn("--nats-monitor names the server's monitoring address: http_port in its configuration", "not known: %v", err)}
		}
		if config := found.JetStream.Config; !config.SyncAlways {
			return []Finding{Warn("jetstream { sync_interval: always } in the server's configuration",
				"events of the last %s may be lost when the machine loses power", config.SyncInterval)}
		}
		return []Finding{Fine("what is acknowledged is on the disk")}
	})
}

func askSyncs(ctx context.Context, address string) (found syncs, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return found, err
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return found, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return found, fmt.Errorf("%s: %s", address, answer.Status)
	}
	const most = 1 << 20 // bytes
	if err := json.NewDecoder(http.MaxBytesReader(nil, answer.Body, most)).Decode(&found); err != nil {
		return found, fmt.Errorf("%s: expected the answer of a NATS server: %w", address, err)
	}
	return found, nil
}
