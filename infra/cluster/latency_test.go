package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// BenchmarkLatency measures on three servers, with streams of one replica and of three: a read of a
// KV bucket from the leader and NATS's own direct get of any copy, a job's claim and
// acknowledgement, and the way of an event to its job's claim. Servers sync every write. It reports
// medians and 99th percentiles in microseconds.
func BenchmarkLatency(b *testing.B) {
	for _, replicas := range []int{1, 3} {
		b.Run(fmt.Sprintf("R%d", replicas), func(b *testing.B) {
			c := Start(b, b.TempDir())
			buses := c.buses(b, replicas)
			b.Run("get-leader", func(b *testing.B) { measureGet(b, buses) })
			b.Run("get-direct", func(b *testing.B) { measureDirect(b, c) })
			b.Run("lease", func(b *testing.B) { measureLease(b, buses) })
			b.Run("dispatch", func(b *testing.B) { measureDispatch(b, buses) })
		})
	}
}

// measured numbers jobs and runs: each is another one, also when a measurement is repeated on the
// same servers.
var measured atomic.Int64

// buses connects a bus for each server.
func (c *Cluster) buses(tb testing.TB, replicas int) (buses [Size]*jetstream.Bus) {
	tb.Helper()
	for i := range buses {
		bus, err := jetstream.Connect(tb.Context(), c.URL(i), jetstream.Options{Create: i == 0, Replicas: replicas})
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = bus.Close() })
		buses[i] = bus
	}
	return buses
}

// times runs do for as long as the benchmark wants, and reports how long it took.
func times(b *testing.B, do func() error) {
	b.Helper()
	var all []time.Duration
	for b.Loop() {
		began := time.Now()
		if err := do(); err != nil {
			b.Fatal(err)
		}
		all = append(all, time.Since(began))
	}
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2].Microseconds()), "p50-us")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-us")
}

func measureGet(b *testing.B, buses [Size]*jetstream.Bus) {
	kv, err := buses[1].KV(b.Context(), events.KVGates)
	if err == nil {
		_, err = kv.Create(b.Context(), "measured", []byte("{}"))
	}
	if err != nil && !isConflict(err) {
		b.Fatal(err)
	}
	times(b, func() error {
		_, err := kv.Get(b.Context(), "measured")
		return err
	})
}

func measureDirect(b *testing.B, c *Cluster) {
	conn, err := nats.Connect(c.URL(1))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	stream, err := js.New(conn)
	if err != nil {
		b.Fatal(err)
	}
	gates, err := stream.KeyValue(b.Context(), events.KVGates)
	if err != nil {
		b.Fatal(err)
	}
	times(b, func() error {
		_, err := gates.Get(b.Context(), "measured")
		return err
	})
}

func measureLease(b *testing.B, buses [Size]*jetstream.Bus) {
	times(b, func() error {
		job := events.Job{
			ID: fmt.Sprintf("job-%d", measured.Add(1)), Function: events.FunctionTrain, Class: "cpu", Pipeline: "penguin", Run: "r", Spec: []byte("{}"),
			Causes: []events.Cause{{Kind: events.KindTransformReady, Source: "/up", ID: "x", Sequence: 1}},
		}
		if err := buses[0].Enqueue(b.Context(), job); err != nil {
			return err
		}
		claim, err := buses[2].Claim(b.Context(), events.FunctionTrain, []string{"cpu"}, 10*time.Second)
		if err != nil {
			return err
		}
		return claim.Ack(b.Context())
	})
}

func measureDispatch(b *testing.B, buses [Size]*jetstream.Bus) {
	spec, err := pipeline.Parse("p.yaml", []byte("pipeline: measured\nmodule: builtin:dnn\ntrainer: {wait_for: [transform], hyperparameters: none}\n"))
	if err == nil {
		_, _, err = dispatch.Apply(b.Context(), buses[0], spec)
	}
	if err != nil {
		b.Fatal(err)
	}
	d, err := dispatch.New(b.Context(), buses[1], slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	// Otherwise jobs that are acknowledged without an outcome are enqueued again, and disturb
	// another measurement.
	d.SweepEvery = time.Hour
	ctx, stop := context.WithCancel(b.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = d.Run(ctx) })
	defer func() { stop(); running.Wait() }()
	times(b, func() error {
		_, err := buses[0].Publish(b.Context(), events.Event{
			ID: "t", Source: "/up", Pipeline: "measured", Run: fmt.Sprintf("run-%d", measured.Add(1)),
			Data: &events.TransformReady{TransformGraph: "s3://bkt/g", TransformedExamples: []events.Examples{{URI: "s3://bkt/tx", Splits: []string{"train"}}}},
		})
		if err != nil {
			return err
		}
		claim, err := buses[2].Claim(b.Context(), events.FunctionTrain, []string{"cpu"}, 10*time.Second)
		if err != nil {
			return err
		}
		return claim.Ack(b.Context())
	})
}

func isConflict(err error) bool { return errors.Is(err, events.ErrConflict) }
