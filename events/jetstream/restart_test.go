package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/local/natsserver"
)

// Every call that waits when the server restarts gets what is published after it, on its
// connection. A wait may end with an error, which every caller expects; waiting again is enough.
func TestWaitingCallsSurviveARestartOfTheServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server, err := natsserver.Start(t.Context(), natsserver.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	bus := connect(t, server, jetstream.Options{Create: true})
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	watch := bus.Watch(ctx, "", "")
	waits := map[string]func() error{
		"follow": func() error { return untilDone(ctx, func() error { return followOne(ctx, bus) }) },
		"take":   func() error { return untilDone(ctx, func() error { return takeOne(ctx, bus) }) },
		"notice": func() error { return untilDone(ctx, func() error { return noticeOne(ctx, bus) }) },
		"read": func() error {
			return untilDone(ctx, func() error {
				for recorded, err := range bus.Read(ctx, events.Query{Follow: true}) {
					return errors.Join(err, recorded.Err)
				}
				return errors.New("nothing read")
			})
		},
		"watch": func() error {
			for _, err := range watch {
				return err
			}
			return errors.New("nothing watched")
		},
	}
	ended := make(chan error)
	for name, wait := range waits {
		go func() { ended <- named(name, wait()) }()
	}
	time.Sleep(500 * time.Millisecond) // so that they wait
	port := portOf(t, server)
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := natsserver.Start(t.Context(), natsserver.Options{Dir: dir, Port: port})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = again.Close() })
	if _, err := publishUntilTaken(ctx, bus, plainEvent()); err != nil {
		t.Fatal(err)
	}
	offer(t, bus)
	if _, err := dial(t, again).Request("buckets.primary", []byte("notice"), 10*time.Second); err != nil {
		t.Fatal(err)
	}
	report := time.NewTicker(50 * time.Millisecond) // progress may be lost: it is reported again
	defer report.Stop()
	for range waits {
		for got := false; !got; {
			select {
			case err := <-ended:
				if err != nil {
					t.Error(err)
				}
				got = true
			case <-report.C:
				if err := bus.Report(ctx, events.Progress{Job: "job-1", Pipeline: "penguin", Run: "run-1"}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

func named(name string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// untilDone retries while the bus is unavailable, but not after permanent errors.
func untilDone(ctx context.Context, try func() error) error {
	for {
		err := try()
		if err == nil || ctx.Err() != nil || errors.Is(err, events.ErrClosed) || errors.Is(err, events.ErrRefused) {
			return err
		}
	}
}

const longWait = 30 * time.Second

func followOne(ctx context.Context, bus events.Bus) error {
	delivery, err := bus.Follow(ctx, "dispatch", longWait)
	if err != nil {
		return err
	}
	return delivery.Ack(ctx)
}

func noticeOne(ctx context.Context, bus events.Bus) error {
	delivery, err := bus.FollowBuckets(ctx, "bridge", longWait)
	if err != nil {
		return err
	}
	return delivery.Ack(ctx)
}

func takeOne(ctx context.Context, bus events.Bus) error {
	claim, err := bus.Claim(ctx, events.FunctionTrain, []string{"cpu"}, longWait)
	if err != nil {
		return err
	}
	return errors.Join(claim.KeepAlive(ctx, func(context.Context) error { return nil }), claim.Ack(ctx))
}

// A deleted consumer is created again by a dispatcher or by `stoker streams apply`.
func TestAReaderThatWasDeletedGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	const handled = 40
	for name, again := range map[string]func(*testing.T, *natsserver.Server) *jetstream.Bus{
		"its reader finds it gone": nil,
		"streams are made again": func(t *testing.T, server *natsserver.Server) *jetstream.Bus {
			return connectAs(t, server, jetstream.Options{Create: true})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := startBus(t)
			var minutes atomic.Int64 // each reading of the clock is a minute later than the last
			began := time.Now()
			now := func() time.Time { return began.Add(time.Duration(minutes.Add(1)) * time.Minute) }
			bus := connectAs(t, server, jetstream.Options{Create: true, Now: now})
			publish := func(from, n int) {
				t.Helper()
				for i := range n {
					event := plainEvent()
					event.ID = fmt.Sprint(from + i)
					if _, err := bus.Publish(t.Context(), event); err != nil {
						t.Fatal(err)
					}
				}
			}
			publish(0, handled)
			for range handled {
				delivery, err := bus.Follow(t.Context(), "dispatch", time.Minute)
				if err == nil {
					err = delivery.Ack(t.Context())
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			open, err := bus.Follow(t.Context(), "dispatch", 0) // nothing: all are acknowledged
			if !errors.Is(err, events.ErrEmpty) {
				t.Fatal(open, err)
			}
			stream, err := js.New(dial(t, server))
			if err == nil {
				err = stream.DeleteConsumer(t.Context(), events.StreamEvents, "dispatch")
			}
			if err != nil {
				t.Fatal(err)
			}
			publish(handled, 1)
			if again != nil {
				bus = again(t, server)
			}
			next := followed(t, bus)
			if got := next.Message().Sequence; got <= handled/2 || got > handled+1 {
				t.Errorf("behind %d events that were handled, event %d is next", handled, got)
			}
			for next.Message().Sequence != handled+1 {
				if err := next.Ack(t.Context()); err != nil {
					t.Fatal(err)
				}
				next = followed(t, bus)
			}
		})
	}
}

// followed returns the next event; a reader whose consumer is gone detects that first.
func followed(t *testing.T, bus *jetstream.Bus) events.EventDelivery {
	t.Helper()
	for range 10 {
		delivery, err := bus.Follow(t.Context(), "dispatch", time.Minute)
		if err == nil {
			return delivery
		}
		t.Log(err)
	}
	t.Fatal("nothing is delivered")
	return nil
}

// Its position is in the previous log, and the new one has grown past it.
func TestAReaderOfALogThatWasMadeAnewMissesNothing(t *testing.T) {
	t.Parallel()
	server := startBus(t)
	bus := connectAs(t, server, jetstream.Options{Create: true})
	publish := func(n int) {
		t.Helper()
		for i := range n {
			event := plainEvent()
			event.ID = fmt.Sprint(i)
			if _, err := bus.Publish(t.Context(), event); err != nil {
				t.Fatal(err)
			}
		}
	}
	publish(1)
	if err := followed(t, bus).Ack(t.Context()); err != nil { // writes its position
		t.Fatal(err)
	}
	client, err := js.New(dial(t, server))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := client.Stream(t.Context(), events.StreamEvents)
	if err != nil {
		t.Fatal(err)
	}
	deleteStream(t, server, events.StreamEvents)
	if _, err := client.CreateStream(t.Context(), stream.CachedInfo().Config); err != nil {
		t.Fatal(err)
	}
	publish(3)
	if got := followed(t, bus).Message().Sequence; got != 1 {
		t.Errorf("event %d of the new log is first", got)
	}
}
