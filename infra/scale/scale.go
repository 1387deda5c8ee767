// Package scale does with Stoker's queue what KEDA does, without a cluster: it computes the lag of
// a consumer as the nats-jetstream scaler does, and how many Jobs a ScaledJob starts for it. Its
// test scales from no worker to several and back with real processes. The same test compares it
// with KEDA's own code, which infra/keda runs (task test:keda).
//
// Read Consumer first, then ScaledJob.
package scale

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

// ScaledJob is how KEDA scales workers that run one job and exit.
type ScaledJob struct {
	PerJob int64 // lagThreshold: messages for each Kubernetes Job; 1 for workers that take one job
	Max    int64 // maxReplicaCount

	// Standing is the number of workers that a Deployment keeps for the same queue:
	// customScalingQueueLengthDeduction. 0: none.
	Standing int64
}

// Start returns how many Jobs to start, by the strategy "default", or with Standing by "custom"
// with 1 for each running Job:
//
//	min(⌈lag / PerJob⌉, Max) − Standing − running,
//
// at least 0. The lag includes the jobs of running Jobs and standing workers, so these are
// subtracted; the strategy "accurate" would not subtract them.
//
// Source: pkg/scaling/scaledjob and pkg/scaling/executor of KEDA 2.21.
func (s ScaledJob) Start(lag, running int64) int64 {
	wanted := min((lag+s.PerJob-1)/s.PerJob, s.Max)
	return max(0, wanted-s.Standing-running)
}

// Consumer is the consumer that a trigger of type nats-jetstream names.
type Consumer struct {
	Monitor string // any server's monitoring endpoint, host:port; those of a cluster share the port
	Account string // default $G, that of a server without accounts
	Stream  string
	Name    string
}

// Lag returns num_pending + num_ack_pending of the consumer's leader: jobs that wait and jobs that
// a worker has. A job that is retried, or whose worker died, counts until it is done.
//
// Source: pkg/scalers/nats_jetstream_scaler.go of KEDA 2.21.
func (c Consumer) Lag(ctx context.Context) (int64, error) {
	said, clustered, err := c.ask(ctx, c.Monitor)
	if err != nil {
		return 0, err
	}
	if clustered {
		if said, err = c.askLeader(ctx); err != nil {
			return 0, err
		}
	}
	if said == nil {
		return 0, fmt.Errorf("no consumer %s of stream %s in account %s at %s", c.Name, c.Stream, c.account(), c.Monitor)
	}
	return said.Pending + said.InFlight, nil
}

func (c Consumer) account() string { return cmp.Or(c.Account, "$G") }

// The parts of /jsz and /varz that are read.
type (
	consumers struct {
		Accounts []struct {
			Streams []struct {
				Name      string     `json:"name"`
				Consumers []consumer `json:"consumer_detail"`
			} `json:"stream_detail"`
		} `json:"account_details"`
		Meta struct {
			Size int `json:"cluster_size"`
		} `json:"meta_cluster"`
	}
	consumer struct {
		Name     string `json:"name"`
		Pending  int64  `json:"num_pending"`
		InFlight int64  `json:"num_ack_pending"`
		Cluster  struct {
			Leader string `json:"leader"`
		} `json:"cluster"`
	}
	server struct {
		Name  string   `json:"server_name"`
		Peers []string `json:"connect_urls"` // host:port for clients, the server's own among them
	}
)

// ask returns a server's copy of the consumer; nil if it has none.
func (c Consumer) ask(ctx context.Context, monitor string) (found *consumer, clustered bool, err error) {
	query := url.Values{"acc": {c.account()}, "consumers": {"true"}, "config": {"true"}}
	var said consumers
	if err := get(ctx, monitor, "/jsz?"+query.Encode(), &said); err != nil {
		return nil, false, err
	}
	for _, account := range said.Accounts {
		for _, stream := range account.Streams {
			for _, consumer := range stream.Consumers {
				if stream.Name == c.Stream && consumer.Name == c.Name {
					found = &consumer
				}
			}
		}
	}
	return found, said.Meta.Size > 1, nil
}

// askLeader asks each server of a cluster for the copy of the leader: only that one knows what is
// in flight. A server that does not answer is skipped; KEDA would give up until the others have
// noticed its absence.
func (c Consumer) askLeader(ctx context.Context) (*consumer, error) {
	var any server
	if err := get(ctx, c.Monitor, "/varz", &any); err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(c.Monitor)
	if err != nil {
		return nil, err
	}
	for _, peer := range any.Peers {
		host, _, err := net.SplitHostPort(peer)
		if err != nil {
			return nil, fmt.Errorf("%s names a server %q: %w", c.Monitor, peer, err)
		}
		found, err := c.askIfLeader(ctx, net.JoinHostPort(host, port))
		if found != nil || ctx.Err() != nil {
			return found, err
		}
	}
	return nil, fmt.Errorf("no leader of consumer %s among %v", c.Name, any.Peers)
}

// askIfLeader is ask; nil if another server leads.
func (c Consumer) askIfLeader(ctx context.Context, monitor string) (*consumer, error) {
	var self server
	if err := get(ctx, monitor, "/varz", &self); err != nil {
		return nil, err
	}
	found, _, err := c.ask(ctx, monitor)
	if err != nil || found == nil || found.Cluster.Leader != self.Name {
		return nil, err
	}
	return found, nil
}

const answerTime = 3 * time.Second

func get(ctx context.Context, monitor, path string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	at := "http://" + monitor + path
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("ask the NATS server: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("ask the NATS server: %s: %s", at, response.Status)
	}
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		return fmt.Errorf("ask the NATS server: %s: %w", at, err)
	}
	return nil
}
