package dispatch_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/local/natsserver"
)

// many returns examples whose addresses take about a hundred bytes each.
func many(n int) (all []events.Examples) {
	for i := range n {
		all = append(all, events.Examples{URI: fmt.Sprintf("s3://bkt/%s/%06d", strings.Repeat("x", 75), i)})
	}
	return all
}

const twoLists = `
pipeline: penguin
module: builtin:dnn
trainer: {wait_for: [examples, transform], train_args: {num_steps: 1}, hyperparameters: none}
`

// wantTooLarge checks that a run has ended because of its size, announced once, with figures.
func wantTooLarge(t *testing.T, bus events.Bus, run string) {
	t.Helper()
	if j := joinOf(t, bus, run); j.State != join.Ended || !j.Ending.Announced || j.Ending.Kind != events.FailureInput {
		t.Errorf("%s is %s: %+v", run, j.State, j.Ending)
	}
	if got := called(t, bus, run); !strings.HasPrefix(got, "input: ") || !strings.Contains(got, " bytes, where a message may have 1048576") {
		t.Errorf("%s failed with %q", run, got)
	}
}

// buses are the buses that know what is too large; on the real one, client and server both decide.
func buses(t *testing.T) map[string]*following {
	t.Helper()
	server, err := natsserver.Start(t.Context(), natsserver.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return map[string]*following{"in memory": {Bus: bustest.NewMemory(0)}, "NATS": {Bus: connect(t, server)}}
}

// following records which event was delivered last.
type following struct {
	events.Bus
	last uint64
}

func (f *following) Follow(ctx context.Context, reader string, wait time.Duration) (events.EventDelivery, error) {
	delivery, err := f.Bus.Follow(ctx, reader, wait)
	if err == nil {
		f.last = max(f.last, delivery.Recorded().Message.Sequence)
	}
	return delivery, err
}

// handled handles every event in the log; none may fail. A large one may take long on a slow
// machine.
func handled(t *testing.T, bus *following) *dispatch.Dispatcher {
	t.Helper()
	d, err := dispatch.New(t.Context(), bus, nil)
	if err != nil {
		t.Fatal(err)
	}
	for recorded, err := range bus.Read(t.Context(), events.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		for bus.last < recorded.Message.Sequence {
			if err := d.Next(t.Context(), 2*time.Minute); err != nil {
				t.Fatal(err)
			}
		}
	}
	return d
}

func TestARunWhoseEventsAreTooLargeTogetherEnds(t *testing.T) {
	t.Parallel()
	for name, bus := range buses(t) {
		t.Run(name, func(t *testing.T) {
			apply(t, bus, twoLists)
			publish(t, bus, "big", "e", &events.ExamplesReady{Examples: many(9000)})
			publish(t, bus, "big", "t", &events.TransformReady{TransformGraph: "s3://bkt/graph", TransformedExamples: many(9000)})
			publish(t, bus, "big", "late", &events.ExamplesReady{Examples: many(1)})
			d := handled(t, bus)
			wantTooLarge(t, bus, "big")
			sweep(t, d)
			wantJobs(t, bus, "swept")
		})
	}
}

func TestAJobThatIsTooLargeEndsItsRunAndHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	for name, bus := range buses(t) {
		t.Run(name, func(t *testing.T) {
			apply(t, bus, "pipeline: penguin\nmodule: builtin:dnn\ntrainer:\n  wait_for: [examples]\n  hyperparameters: none\n"+
				"  custom_config: {vocabulary: "+strings.Repeat("v", 200_000)+"}\nconcurrency: 1\n")
			publish(t, bus, "big", "e", &events.ExamplesReady{Examples: many(9000)})
			for _, run := range []string{"a", "b"} {
				publish(t, bus, run, "e", &events.ExamplesReady{Examples: many(1)})
			}
			d := handled(t, bus)
			wantTooLarge(t, bus, "big")
			finish(t, bus, d, wantJobs(t, bus, "behind it", "a")[0])
			handled(t, bus)
			wantJobs(t, bus, "and then", "b")
		})
	}
}
