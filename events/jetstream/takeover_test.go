package jetstream_test

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"testing"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/local/natsserver"
)

func offer(t *testing.T, bus events.Bus) {
	t.Helper()
	err := bus.Enqueue(t.Context(), events.Job{
		ID: "job-1", Function: events.FunctionTrain, Class: "cpu", Pipeline: "penguin", Run: "run-1", Spec: []byte(`{}`),
		Causes: []events.Cause{{Kind: events.KindExamplesReady, Source: "/gen", ID: "1"}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func take(t *testing.T, bus events.Bus, wait time.Duration) events.Claim {
	t.Helper()
	claim, err := bus.Claim(t.Context(), events.FunctionTrain, []string{"cpu"}, wait)
	if err != nil {
		t.Fatal(err)
	}
	return claim
}

func takeNothing(t *testing.T, bus events.Bus, wait time.Duration) {
	t.Helper()
	if claim, err := bus.Claim(t.Context(), events.FunctionTrain, []string{"cpu"}, wait); !errors.Is(err, events.ErrEmpty) {
		t.Fatalf("got %v, %v, want nothing", claim, err)
	}
}

// A worker that was there all the time has watched the lease, so a job whose worker died waits for
// one lease length only. Without watching it would be two: one until the message is redelivered,
// and one to see that there is no heartbeat.
func TestAWorkerThatWatchedTakesOverAfterOneLease(t *testing.T) {
	t.Parallel()
	server := startBus(t)
	dying := connect(t, server, jetstream.Options{Create: true})
	watching := connect(t, server, jetstream.Options{})
	takeNothing(t, watching, 10*time.Millisecond)
	offer(t, dying)
	began := time.Now()
	take(t, dying, 2*time.Minute)
	if err := dying.Close(); err != nil {
		t.Fatal(err)
	}
	claim := take(t, watching, 10*bustest.Lease)
	took := time.Since(began)
	if took < bustest.Lease || took > 2*bustest.Lease {
		t.Errorf("taken over after %s, want one lease of %s and little more", took, bustest.Lease)
	}
	if attempt := claim.Attempt(); attempt.Number != 2 || attempt.Failures[events.FailureUnavailable] != 1 {
		t.Errorf("attempt %+v", attempt)
	}
}

// A worker that starts when the message is already being redelivered knows nothing of the owner, so
// it must first see the lease unchanged for a whole lease length. The owner, whose message a zombie
// sent back, continues undisturbed.
func TestAWorkerThatCameLaterDoesNotTrustARedelivery(t *testing.T) {
	t.Parallel()
	server := startBus(t)
	owner := connect(t, server, jetstream.Options{Create: true})
	offer(t, owner)
	claim := take(t, owner, 2*time.Minute)
	late := connect(t, server, jetstream.Options{})
	err := claim.KeepAlive(t.Context(), func(ctx context.Context) error {
		naked := dial(t, server)
		// An acknowledgement like that of a superseded worker.
		if err := naked.Publish(ackSubject(t, claim), []byte("-NAK")); err != nil {
			return err
		}
		takeNothing(t, late, 2*bustest.Lease)
		return ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := claim.Ack(t.Context()); err != nil {
		t.Fatal(err)
	}
	takeNothing(t, late, bustest.Lease+bustest.Lease/2)
}

// ackSubject returns the subject that acknowledges the first delivery of the first job from
// train-cpu, except for the time in it.
func ackSubject(t *testing.T, claim events.Claim) string {
	t.Helper()
	message := claim.Message()
	return "$JS.ACK.JOBS.train-cpu.1." + strconv.FormatUint(message.Sequence, 10) + ".1." + strconv.FormatInt(message.Stored.UnixNano(), 10) + ".0"
}

// While the bus is unavailable nothing can be proved, so work must have ended before others may
// begin.
func TestWorkEndsBeforeItsLeaseDoesWhenTheBusIsAway(t *testing.T) {
	t.Parallel()
	server := startBus(t)
	// Time for a busy machine.
	bus := connect(t, server, jetstream.Options{Create: true, Margin: bustest.Lease / 3})
	offer(t, bus)
	claim := take(t, bus, 2*time.Minute)
	began := time.Now()
	err := claim.KeepAlive(t.Context(), func(ctx context.Context) error {
		if err := server.Close(); err != nil {
			return err
		}
		<-ctx.Done()
		return context.Cause(ctx)
	})
	if took := time.Since(began); !errors.Is(err, events.ErrLeaseLost) || took >= bustest.Lease {
		t.Errorf("got %v after %s, want a lost lease within %s", err, took, bustest.Lease)
	}
	if err := claim.Ack(t.Context()); !errors.Is(err, events.ErrLeaseLost) {
		t.Errorf("done: got %v", err)
	}
}

// longLease is the lease of tests that must not lose one, on a busy machine too.
const longLease = 4 * bustest.Lease

// A bus that returns within a lease has no effect on workers.
func TestWorkGoesOnWhenTheBusComesBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start := func(port int) *natsserver.Server {
		server, err := natsserver.Start(t.Context(), natsserver.Options{Dir: dir, Port: port, SyncAlways: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = server.Close() })
		return server
	}
	first := start(0)
	bus := connectAs(t, first, jetstream.Options{Create: true, Lease: longLease})
	event := plainEvent()
	receipt, err := bus.Publish(t.Context(), event)
	if err != nil {
		t.Fatal(err)
	}
	offer(t, bus)
	claim := take(t, bus, 2*time.Minute)
	err = claim.KeepAlive(t.Context(), func(ctx context.Context) error {
		port := portOf(t, first)
		if err := first.Close(); err != nil {
			return err
		}
		start(port)
		again, err := publishUntilTaken(ctx, bus, event)
		if err == nil && (!again.Duplicate || again.Sequence != receipt.Sequence) {
			t.Errorf("receipt %+v after the restart, want a duplicate of %+v", again, receipt)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := claim.Ack(t.Context()); err != nil {
		t.Fatal(err)
	}
	takeNothing(t, bus, longLease+longLease/2)
}

// publishUntilTaken publishes again if the answer was lost with the connection, as every caller
// may.
func publishUntilTaken(ctx context.Context, bus events.Bus, event events.Event) (receipt events.Receipt, err error) {
	for ctx.Err() == nil {
		if receipt, err = bus.Publish(ctx, event); err == nil {
			return receipt, nil
		}
	}
	return receipt, err
}

func portOf(t *testing.T, server *natsserver.Server) int {
	t.Helper()
	address, err := url.Parse(server.Address())
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(address.Port())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// A held job is not even sent to others: the heartbeat also extends the bus's own timer.
func TestAHeldJobIsDeliveredOnce(t *testing.T) {
	t.Parallel()
	server := startBus(t)
	bus := connectAs(t, server, jetstream.Options{Create: true, Lease: longLease})
	other := connectAs(t, server, jetstream.Options{Lease: longLease})
	offer(t, bus)
	claim := take(t, bus, 2*time.Minute)
	err := claim.KeepAlive(t.Context(), func(ctx context.Context) error {
		takeNothing(t, other, 5*longLease/2)
		return ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	client, err := js.New(dial(t, server))
	if err != nil {
		t.Fatal(err)
	}
	consumer, err := client.Consumer(t.Context(), "JOBS", "train-cpu")
	if err != nil {
		t.Fatal(err)
	}
	if got := consumer.CachedInfo().Delivered.Consumer; got != 1 {
		t.Errorf("delivered %d times, want once", got)
	}
}
