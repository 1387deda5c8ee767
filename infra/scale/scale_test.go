package scale_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/infra/scale"
	"github.com/stoker-ml/stoker/local/natsserver"
)

func TestStartsWhatIsMissing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ perJob, max, lag, running, want int64 }{
		{1, 4, 0, 0, 0},
		{1, 4, 1, 0, 1},
		{1, 4, 6, 0, 4},  // no more than the quota
		{1, 4, 6, 4, 0},  // which is used up
		{1, 4, 6, 3, 1},  // one has left
		{1, 4, 2, 2, 0},  // those that run have these jobs
		{1, 4, 0, 2, 0},  // about to leave; no worker is stopped
		{10, 4, 1, 0, 1}, // any job at all
		{10, 4, 11, 1, 1},
	} {
		if got := (scale.ScaledJob{PerJob: c.perJob, Max: c.max}).Start(c.lag, c.running); got != c.want {
			t.Errorf("%d a job, %d at most: lag %d with %d running starts %d, want %d", c.perJob, c.max, c.lag, c.running, got, c.want)
		}
	}
}

func TestStandingWorkersTakeJobsFirst(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ standing, max, lag, running, want int64 }{
		{2, 6, 0, 0, 0},
		{2, 6, 2, 0, 0}, // they have both
		{2, 6, 3, 0, 1},
		{2, 6, 3, 1, 0},
		{2, 6, 20, 0, 4}, // six in all
		{2, 6, 20, 4, 0},
		{2, 6, 1, 3, 0}, // about to leave
		{2, 2, 20, 0, 0},
		{0, 6, 2, 0, 2}, // from zero
	} {
		if got := (scale.ScaledJob{PerJob: 1, Max: c.max, Standing: c.standing}).Start(c.lag, c.running); got != c.want {
			t.Errorf("%d stay, %d at most: lag %d with %d running starts %d, want %d", c.standing, c.max, c.lag, c.running, got, c.want)
		}
	}
}

// A job counts from when it is enqueued until it ends, in its own class only.
func TestLagGoesUpWithJobsAndDownWithAcks(t *testing.T) {
	t.Parallel()
	server, bus := startBus(t)
	cpu := scale.Consumer{Monitor: server.MonitorAddress(), Stream: events.StreamJobs, Name: "train-cpu"}
	gpu := cpu
	gpu.Name = "train-gpu"
	wantLag(t, "at first", cpu, 0)

	for i := range 3 {
		offer(t, bus, fmt.Sprintf("job-%d", i), "cpu")
	}
	offer(t, bus, "other", "gpu")
	wantLag(t, "3 queued", cpu, 3)
	wantLag(t, "1 queued", gpu, 1)

	first, second := take(t, bus, "cpu"), take(t, bus, "cpu")
	wantLag(t, "2 of 3 in flight", cpu, 3)
	must(t, first.Ack(t.Context()))
	wantLag(t, "1 done", cpu, 2)
	must(t, second.Nak(t.Context(), time.Hour, events.FailureUnavailable, "why"))
	wantLag(t, "1 handed back for later", cpu, 2)
	must(t, take(t, bus, "cpu").Ack(t.Context()))
	wantLag(t, "2 done", cpu, 1)
	wantLag(t, "as before", gpu, 1)
}

func TestAConsumerThatIsNotThereIsNamed(t *testing.T) {
	t.Parallel()
	server, _ := startBus(t)
	c := scale.Consumer{Monitor: server.MonitorAddress(), Stream: events.StreamJobs, Name: "train-tpu"}
	_, err := c.Lag(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no consumer train-tpu of stream JOBS in account $G") {
		t.Errorf("got %v, want the consumer's name", err)
	}
	c.Monitor = "127.0.0.1:1"
	if _, err := c.Lag(t.Context()); err == nil || !strings.Contains(err.Error(), "ask the NATS server") {
		t.Errorf("got %v, want that nobody answers", err)
	}
}

func startBus(t *testing.T) (*natsserver.Server, *jetstream.Bus) {
	t.Helper()
	server, err := natsserver.Start(t.Context(), natsserver.Options{Dir: t.TempDir(), Monitor: true})
	must(t, err)
	t.Cleanup(func() { _ = server.Close() })
	bus, err := jetstream.Connect(t.Context(), server.URL(), jetstream.Options{Create: true})
	must(t, err)
	t.Cleanup(func() { _ = bus.Close() })
	return server, bus
}

func offer(t *testing.T, bus *jetstream.Bus, id, class string) {
	t.Helper()
	must(t, bus.Enqueue(t.Context(), events.Job{
		ID: id, Function: events.FunctionTrain, Class: class, Pipeline: "penguin", Run: id, Created: time.Now(),
		Spec:   []byte(`{"pipeline":"penguin"}`),
		Causes: []events.Cause{{Kind: events.KindExamplesReady, Source: "/upstream", ID: id, Sequence: 1}},
	}))
}

func take(t *testing.T, bus *jetstream.Bus, class string) events.Claim {
	t.Helper()
	claim, err := bus.Claim(t.Context(), events.FunctionTrain, []string{class}, patience)
	must(t, err)
	return claim
}

// wantLag waits for a lag: the server updates a consumer with a new message after it has
// acknowledged the message to its publisher, so that the first answers may not include it.
func wantLag(t *testing.T, when string, c scale.Consumer, want int64) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		got, err := c.Lag(t.Context())
		must(t, err)
		if got == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: lag of %s is %d, want %d", when, c.Name, got, want)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
