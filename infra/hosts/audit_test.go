//go:build hosts

package hosts

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/infra/scale"
	"github.com/stoker-ml/stoker/storage"
)

// outcomes returns the events of models and failures, by run.
func (c *cluster) outcomes(ctx context.Context) (trained map[string][]*events.ModelTrained, failed map[string]string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	trained, failed = map[string][]*events.ModelTrained{}, map[string]string{}
	for recorded, err := range c.bus.Read(ctx, events.Query{Kinds: events.OutcomeKinds()}) {
		if err != nil {
			return nil, nil, err
		}
		switch data := recorded.Event.Data.(type) {
		case *events.ModelTrained:
			trained[recorded.Event.Run] = append(trained[recorded.Event.Run], data)
		case *events.TrainingFailed:
			failed[recorded.Event.Run] = data.Message
		}
	}
	return trained, failed, nil
}

// audit lists everything that is wrong.
func (c *cluster) audit(ctx context.Context, runs []string) (faults []string) {
	trained, failed, err := c.outcomes(ctx)
	c.must(err)
	for run, message := range failed {
		faults = append(faults, fmt.Sprintf("run %s failed: %s", run, message))
	}
	executions := map[string]string{}
	for _, run := range runs {
		if n := len(trained[run]); n != 1 {
			faults = append(faults, fmt.Sprintf("run %s: %d model events, want 1", run, n))
			continue
		}
		event := trained[run][0]
		executions[event.Execution] = run
		faults = append(faults, c.model(ctx, run, event)...)
	}
	if len(trained) != len(runs) {
		faults = append(faults, fmt.Sprintf("%d runs have models, %d were asked for", len(trained), len(runs)))
	}
	for deadLetter, err := range c.bus.DeadLetters(ctx) {
		c.must(err)
		faults = append(faults, fmt.Sprintf("a dead letter: %v", deadLetter.Reason))
	}
	if lag, err := c.lag(ctx); err != nil || lag != 0 {
		faults = append(faults, fmt.Sprintf("lag of the queue: %d, %v", lag, err))
	}
	return append(faults, c.commits(ctx, executions)...)
}

// model checks that the model of an event is the committed one, and complete.
func (c *cluster) model(ctx context.Context, run string, event *events.ModelTrained) (faults []string) {
	ref, err := storage.ParseRef(event.Model.URI)
	c.must(err)
	place, ok := storage.PlaceOf(ref)
	if !ok {
		return []string{fmt.Sprintf("run %s: %s is no artifact's address", run, ref)}
	}
	commit, _, err := storage.Committed(ctx, c.store, place.Root, event.Execution)
	if err != nil || commit.Attempt != place.Attempt {
		faults = append(faults, fmt.Sprintf("run %s: the event names attempt %s, %s committed: %v", run, place.Attempt, commit.Attempt, err))
	}
	staged, err := storage.StageIn(ctx, c.store, ref, c.t.TempDir(), storage.StageOptions{})
	if err != nil || staged.Digest != event.Model.Digest {
		faults = append(faults, fmt.Sprintf("run %s: model has digest %s, the event has %s: %v", run, staged.Digest, event.Model.Digest, err))
	}
	return faults
}

// commits checks that each execution named by an event has one commit, and that there are no
// others.
func (c *cluster) commits(ctx context.Context, executions map[string]string) (faults []string) {
	committed := 0
	for object, err := range c.store.List(ctx, c.root) {
		c.must(err)
		if path.Base(object.Ref.Key) == "commit.json" {
			committed++
		}
	}
	if committed != len(executions) {
		faults = append(faults, fmt.Sprintf("%d executions are committed, %d are in events", committed, len(executions)))
	}
	return faults
}

const monitorPort = "8222"

// lag returns that of trainings, requested from a server that need not lead.
func (c *cluster) lag(ctx context.Context) (int64, error) {
	at := net.JoinHostPort(c.hosts["a"].ip, monitorPort)
	return scale.Consumer{Monitor: at, Stream: events.StreamJobs, Name: "train-cpu"}.Lag(ctx)
}

// streamsOf is a server's report of its streams.
type streamsOf struct {
	Accounts []struct {
		Streams []struct {
			Name    string `json:"name"`
			Cluster struct {
				Leader   string `json:"leader"`
				Replicas []struct {
					Name    string `json:"name"`
					Current bool   `json:"current"`
				} `json:"replicas"`
			} `json:"cluster"`
		} `json:"stream_detail"`
	} `json:"account_details"`
}

func (c *cluster) ask(ctx context.Context, server string) (said streamsOf, err error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	at := "http://" + net.JoinHostPort(c.hosts[server].ip, monitorPort) + "/jsz?acc=$G&streams=true&config=true"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return said, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return said, err
	}
	defer response.Body.Close()
	return said, json.NewDecoder(response.Body).Decode(&said)
}

// leaderOfJobs returns the host whose server leads the queue.
func (c *cluster) leaderOfJobs() (leader string) {
	c.t.Helper()
	c.eventually("the queue has a leader", func(ctx context.Context) string {
		said, err := c.ask(ctx, "a")
		if err != nil {
			return err.Error()
		}
		for _, account := range said.Accounts {
			for _, stream := range account.Streams {
				if stream.Name == events.StreamJobs {
					leader = stream.Cluster.Leader
				}
			}
		}
		if leader == "" {
			return "nobody leads"
		}
		return ""
	})
	return leader
}

// wantCopies waits until all copies of all streams are current, by their leaders' word.
func (c *cluster) wantCopies() {
	c.t.Helper()
	c.eventually("all copies are current", func(ctx context.Context) string {
		led := 0
		for server := range c.servers {
			said, err := c.ask(ctx, server)
			if err != nil {
				return err.Error()
			}
			for _, account := range said.Accounts {
				for _, stream := range account.Streams {
					if stream.Cluster.Leader != server {
						continue
					}
					led++
					current := 1
					for _, replica := range stream.Cluster.Replicas {
						if replica.Current {
							current++
						}
					}
					if current != copies {
						return fmt.Sprintf("stream %s: %d copies are current", stream.Name, current)
					}
				}
			}
		}
		if led == 0 {
			return "no stream has a leader"
		}
		return ""
	})
}
