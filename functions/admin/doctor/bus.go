package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
)

// makes is the command that creates streams, KV buckets and consumers as defined.
const makes = "`stoker streams apply` creates it"

// Bus checks the bus: whether it answers, its version, its streams, KV buckets and consumers
// against their definition, and its clock. unreachable is the advice if it does not answer.
func Bus(survey func(context.Context) (jetstream.Surveyed, error), unreachable func(error) string) Check {
	return Func("bus", func(ctx context.Context) []Finding {
		found, err := survey(ctx)
		if err != nil {
			return []Finding{Wrong(unreachable(err), "%v", err)}
		}
		return append([]Finding{answers(found), jetStream(found)}, ofParts(found)...)
	})
}

func answers(s jetstream.Surveyed) Finding {
	how := "without TLS"
	if s.TLS {
		how = "with TLS"
	}
	where := s.Server
	if s.Cluster != "" {
		where += " of cluster " + s.Cluster
	}
	return Fine("server %s, version %s, %s, answers in %s", where, s.Version, how, s.RoundTrip.Round(10*time.Microsecond))
}

func jetStream(s jetstream.Surveyed) Finding {
	f := Finding{Check: "jetstream", Level: OK}
	switch {
	case errors.Is(s.JetStream, jetstream.ErrNoJetStream):
		f.Level, f.Found = Fault, "JetStream is off for this account"
		f.Do = "jetstream: enabled in the server's configuration, and in the account's"
	case errors.Is(s.JetStream, events.ErrRefused):
		f.Found = "on; no permission to read its limits"
	case s.JetStream != nil:
		f.Level, f.Found, f.Do = Fault, s.JetStream.Error(), "see the server's log"
	default:
		f.Found = fmt.Sprintf("on; storage %s, memory %s", usage(s.Storage), usage(s.Memory))
		if full(s.Storage) {
			f.Level, f.Do = Warning, "a stream that is full refuses new events: raise the account's max_file"
		}
	}
	return f
}

// ofParts returns a finding for each part that differs from its definition, and one for those that
// don't.
func ofParts(s jetstream.Surveyed) (all []Finding) {
	var fine, unknown []string
	var clock *time.Duration
	for _, p := range s.Parts {
		found := ofPart(p)
		for i := range found {
			found[i].Check = p.Name
		}
		all = append(all, found...)
		switch {
		case errors.Is(p.Err, events.ErrRefused):
			unknown = append(unknown, p.Name)
		case p.Err == nil && len(found) == 0:
			fine = append(fine, p.Name)
		}
		if p.Err == nil && clock == nil && p.Clock != 0 {
			clock = &p.Clock
		}
	}
	if len(unknown) > 0 {
		all = append(all, Finding{"streams", Warning, "no permission to read " + strings.Join(unknown, ", "), "repeat this with credentials of the role operator (`stoker access` prints the permissions of roles)"})
	}
	if len(fine) > 0 {
		all = append(all, Finding{Check: "streams", Level: OK, Found: fmt.Sprintf("%d of %d match their definition", len(fine), len(s.Parts))})
	}
	if clock != nil {
		all = append(all, skew("clock of the bus", *clock))
	}
	return all
}

func ofPart(p jetstream.Part) (found []Finding) {
	switch {
	case errors.Is(p.Err, events.ErrRefused):
		return nil // reported together
	case errors.Is(p.Err, events.ErrNotFound):
		return []Finding{Wrong(makes, "is missing")}
	case p.Err != nil:
		return []Finding{Wrong("see the server's log", "%v", p.Err)}
	}
	for _, d := range p.Differences {
		found = append(found, Wrong("`stoker streams apply` updates it; its error names settings that can't be changed",
			"%s is %s, and defined as %s", d.Field, d.Is, d.Defined))
	}
	if p.Redelivered > 0 {
		oldest := ""
		if p.Oldest != "" {
			oldest = "; the oldest is " + p.Oldest
		}
		found = append(found, Warn("the log of its reader has the reason of each failure (event not handled); fix that, a pipeline with `stoker apply`",
			"%d messages are delivered again and again, because they can't be handled%s", p.Redelivered, oldest))
	}
	if p.Unread {
		found = append(found, Warn("start one: `stoker dispatch`, or `stoker up` with all the rest",
			"no dispatcher is reading it: %d events wait, and no run is started", p.Waiting))
	}
	if p.Clustered && p.Replicas == 1 {
		found = append(found, Warn("`stoker streams apply --replicas 3`", "has one copy in a cluster: if its server loses the disk, events are lost"))
	}
	if full(p.Bytes) || full(p.Messages) {
		found = append(found, Warn("raise its limit, or delete old messages: a full stream refuses new messages",
			"is nearly full: %s, %d messages", usage(p.Bytes), p.Messages.Used))
	}
	return found
}

// full reports whether nine tenths are used.
func full(u jetstream.Usage) bool { return u.Limit > 0 && u.Used >= u.Limit/10*9 }

func usage(u jetstream.Usage) string {
	if u.Limit <= 0 {
		return size(uint64(max(u.Used, 0))) + " used"
	}
	return fmt.Sprintf("%s of %s used", size(uint64(max(u.Used, 0))), size(uint64(u.Limit)))
}

// size formats bytes for people.
func size(bytes uint64) string {
	const kilo = 1024
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	n, unit := float64(bytes), 0
	for n >= kilo && unit < len(units)-1 {
		n, unit = n/kilo, unit+1
	}
	if unit == 0 {
		return fmt.Sprintf("%d bytes", bytes)
	}
	return fmt.Sprintf("%.1f %s", n, units[unit])
}

// How far a clock may be off: it is compared with certificates, credentials and deadlines, and S3
// rejects requests signed 15 minutes off.
const (
	// The resolution of answers: whole seconds, of a clock that servers read once a second.
	exact      = 2 * time.Second
	skewed     = 5 * time.Second
	farSkewed  = 5 * time.Minute
	setYourOwn = "synchronize this machine's clock and the server's by NTP"
)

// skew returns the finding for a clock that is ahead of ours.
func skew(check string, ahead time.Duration) Finding {
	word, off := "ahead of", ahead
	if ahead < 0 {
		word, off = "behind", -ahead
	}
	found := fmt.Sprintf("%s %s this machine's", off.Round(time.Millisecond), word)
	switch {
	case off < exact:
		found = "the same as this machine's"
	case off > farSkewed:
		return Finding{check, Fault, found, setYourOwn}
	case off > skewed:
		return Finding{check, Warning, found, setYourOwn}
	}
	return Finding{Check: check, Level: OK, Found: found}
}

// syncs is when a NATS server writes to disk, from its /varz.
type syncs struct {
	JetStream struct {
		Config struct {
			SyncAlways   bool          `json:"sync_always"`
			SyncInterval time.Duration `json:"sync_interval"` // nanoseconds
		} `json:"config"`
	} `json:"jetstream"`
}

// Durable asks a NATS server's monitoring endpoint whether acknowledged data is on its disk.
// Clients of the bus can't ask that. Without an endpoint it returns no finding.
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
			return []Finding{Warn("--nats-monitor names the server's monitoring address: http_port in its configuration", "unknown: %v", err)}
		}
		if config := found.JetStream.Config; !config.SyncAlways {
			return []Finding{Warn("jetstream { sync_interval: always } in the server's configuration",
				"events of the last %s may be lost when the machine loses power", config.SyncInterval)}
		}
		return []Finding{Fine("acknowledged messages are on disk")}
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
		return found, fmt.Errorf("%s: expected the monitoring endpoint of a NATS server: %w", address, err)
	}
	return found, nil
}
