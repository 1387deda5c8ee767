//go:build cluster

package multihost_test

import (
	"context"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/runner/multihost"
	"github.com/stoker-ml/stoker/infra/cluster"
)

// Each host is connected to a server of its own, over slow links between the servers. When one
// server is cut off from the others, the round ends on all hosts, including the host of that
// server. When the link is back, the same processes form a group again.
func TestAGroupOnThreeServersOutlivesACut(t *testing.T) {
	for name, server := range map[string]int{"of the leader": 0, "of a member": 2} {
		t.Run(name, func(t *testing.T) {
			c := cluster.Start(t, t.TempDir())
			for _, link := range [][2]int{{0, 1}, {1, 0}, {1, 2}, {2, 1}} {
				c.Slow(link[0], link[1], 100*time.Millisecond)
			}
			// The first connection enqueues and claims the job, the next ones are those of hosts 0,
			// 1 and 2.
			connected := -1
			w := newWorld(t, 30*time.Second, func(t *testing.T) conn {
				at := max(connected, 0) % cluster.Size
				connected++
				return connect(t, c.URL(at), jetstream.Options{Create: connected == 0, Replicas: cluster.Size})
			})
			begun, ended := make(chan struct{}, 2), make(chan error, 2)
			member := ready(func(ctx context.Context, round *multihost.MemberRound) error {
				begun <- struct{}{}
				err := trains(ctx, round)
				ended <- err
				return err
			})
			w.gather(t, false, member, member)
			must(t, w.Whole(t.Context()))

			err := w.run(t, func(ctx context.Context) error {
				<-begun
				<-begun
				c.Isolate(server, true)
				return wait(ctx)
			})
			if _, ok := events.AsKind(err, events.FailureUnavailable); !ok {
				t.Errorf("the leader's part ends with %v", err)
			}
			for range 2 {
				<-ended
			}
			must(t, c.Heal())
			whole, stop := context.WithTimeout(t.Context(), 5*time.Minute)
			defer stop()
			must(t, c.Await(whole))
			must(t, w.Whole(whole))
			bus := w.connect(t)
			for { // the streams may have no leaders yet
				if w.command, err = tryClaim(whole, bus, "j2", `{}`); err == nil {
					break
				}
				if whole.Err() != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
			}
			must(t, w.run(t, func(context.Context) error {
				<-begun
				<-begun
				return nil
			}))
			for _, rank := range []int{1, 2} {
				w.kill[rank](context.Canceled)
			}
		})
	}
}
