package bustest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// Lease is the length that leases of a bus under test must have. It leaves a busy machine time for
// late heartbeats: tests that wait for the expiry of a lease take a little longer than this.
const Lease = 1500 * time.Millisecond

// Bus is a bus under test.
type Bus interface {
	events.Bus
	// Inject appends a message as a foreign publisher would.
	Inject(ctx context.Context, subject string, header map[string][]string, body []byte) error
	Close() error
}

// Run checks that the buses that open creates keep the contract of events.Bus. Each test opens its
// own, empty, with leases of length Lease.
func Run(t *testing.T, open func(t *testing.T) Bus) {
	for name, test := range tests() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// RunInBubble is Run on the clock of testing/synctest, for buses in this process: no test waits.
func RunInBubble(t *testing.T, open func(t *testing.T) Bus) {
	for name, test := range tests() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { test(t, open(t)) })
		})
	}
}

func tests() map[string]func(*testing.T, Bus) {
	all := map[string]func(*testing.T, Bus){}
	for _, group := range []map[string]func(*testing.T, Bus){logTests(), queueTests(), leaseTests(), cancelTests(), proveTests(), bucketTests(), listenTests(), kvTests(), studyTests(), deadTests(), sideTests(), workerTests(), requestTests(), closeTests()} {
		for name, test := range group {
			all[name] = test
		}
	}
	return all
}

const (
	soon = 10 * time.Second       // for messages that will arrive: only a failure waits this long
	now  = 300 * time.Millisecond // for messages that must not arrive
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantError(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("got error %v, want %v", err, want)
	}
}

func wantInvalid(t *testing.T, err error, field string) {
	t.Helper()
	if invalid, ok := errors.AsType[*events.Invalid](err); !ok || invalid.Field != field {
		t.Errorf("got error %v, want an *Invalid that names %s", err, field)
	}
}

// exampleEvent returns a valid event of run.
func exampleEvent(run, id string) events.Event {
	return events.Event{
		ID: id, Source: "/upstream/example-gen", Pipeline: "penguin", Run: run,
		Data: &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://data/penguin/1", Splits: []string{"train", "eval"}}}},
	}
}

// exampleJob returns a valid train job.
func exampleJob(id, class string) events.Job {
	return events.Job{
		ID: id, Function: events.FunctionTrain, Class: class, Pipeline: "penguin", Run: "run 1", Spec: []byte(`{}`),
		Causes: []events.Cause{{Kind: events.KindExamplesReady, Source: "/upstream/example-gen", ID: "1", Sequence: 1}},
	}
}
