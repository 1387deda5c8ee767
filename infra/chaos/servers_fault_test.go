package chaos

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/infra/cluster"
)

// disturb causes one disturbance, waits for its duration, and ends it. A clock that was changed
// stays so until another one is changed.
func (w *servers) disturb(ctx context.Context, d disturbance) error {
	w.note(d.what, d.String())
	c, server := w.cluster, w.cluster.Servers[d.server]
	switch d.what {
	case slowLink:
		c.Slow(d.server, d.other, d.amount)
		w.hold(ctx, d)
		w.slowBehind()
	case slowClients:
		c.Clients[d.server].Delay(cluster.Forward, d.amount)
		w.hold(ctx, d)
		c.Clients[d.server].Heal()
	case cutOff:
		c.Isolate(d.server, !d.abrupt)
		w.hold(ctx, d)
		for other := range cluster.Size {
			if other != d.server {
				link, _ := c.Between(d.server, other)
				link.Heal()
			}
		}
		w.slowBehind()
	case killLeader, freezeLeader:
		return w.stopLeader(ctx, d)
	case stepDown:
		_ = c.StepDown(w.nc, d.stream, -1) // the stream may have no leader just now
	case wrongClock:
		for _, s := range c.Servers {
			if err := s.SetClock(0); err != nil {
				return err
			}
		}
		return server.SetClock(d.amount)
	case stopDispatcher:
		w.restart(ctx, w.dispatchers[d.server%len(w.dispatchers)], d)
	case stopWorker:
		w.restart(ctx, w.workers[d.server%len(w.workers)], d)
	case removeJobs:
		return w.removeJobs(ctx)
	case newModule:
		w.commits.module.Add(1)
	case pauseResume:
		err := w.pause(ctx, pipeGated, true)
		w.hold(ctx, d)
		return errors.Join(err, w.pause(ctx, pipeGated, false))
	}
	return nil
}

// The server that is always a little behind the others, so that its copies are old, and by how
// much.
const (
	behind      = 2
	behindDelay = 5 * time.Millisecond
)

// slowBehind makes every link between servers undisturbed but those to the server that is behind.
func (w *servers) slowBehind() {
	for from := range cluster.Size {
		for to := range cluster.Size {
			delay := time.Duration(0)
			if to == behind {
				delay = behindDelay
			}
			if from != to {
				w.cluster.Slow(from, to, delay)
			}
		}
	}
}

func (w *servers) hold(ctx context.Context, d disturbance) {
	select {
	case <-ctx.Done():
	case <-time.After(d.hold):
	}
}

// stopLeader kills or freezes the server that leads a stream.
func (w *servers) stopLeader(ctx context.Context, d disturbance) error {
	leader, err := w.cluster.Leader(w.nc, d.stream)
	if err != nil {
		leader = d.server
	}
	s := w.cluster.Servers[leader]
	if d.what == freezeLeader {
		err = s.Freeze()
		w.hold(ctx, d)
		return errors.Join(err, s.Thaw())
	}
	err = s.Kill()
	w.hold(ctx, d)
	return errors.Join(err, s.Start())
}

func (w *servers) restart(ctx context.Context, m *member, d disturbance) {
	m.stop(d.abrupt)
	w.hold(ctx, d)
	m.start()
}

// removeJobs loses the queue, and makes it again as `stoker serve` does.
func (w *servers) removeJobs(ctx context.Context) error {
	js, err := w.nc.JetStream()
	if err != nil {
		return err
	}
	if err := js.DeleteStream("JOBS"); err != nil {
		w.note("JOBS not removed", err.Error())
	}
	return persist(ctx, slog.New(slog.DiscardHandler), func() error {
		try, cancel := context.WithTimeout(ctx, tryTime)
		defer cancel()
		bus, err := jetstream.Connect(try, w.cluster.URL(0), jetstream.Options{Create: true, Replicas: cluster.Size, Lease: clusterLease})
		if err != nil {
			return fmt.Errorf("make JOBS again: %w", err)
		}
		return bus.Close()
	})
}

// calm ends everything that goes wrong, and makes what may have been lost.
func (w *servers) calm(ctx context.Context) error {
	w.note("calm", "")
	if err := w.cluster.Heal(); err != nil {
		return err
	}
	if err := w.cluster.Await(ctx); err != nil {
		return err
	}
	return w.pause(ctx, pipeGated, false)
}
