package bustest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
)

func logTests() map[string]func(*testing.T, Bus) {
	return map[string]func(*testing.T, Bus){
		"an event is published once":                                   publishOnce,
		"of many publishers of one event one is first":                 publishTogether,
		"another source can't take the id of an event":                 publishOtherSource,
		"other data can't take the id of an event":                     publishOtherData,
		"a result's id stands for the result":                          publishResultAgain,
		"an event is not lost to bytes under its subject":              publishOverBytes,
		"an invalid event is not published":                            publishInvalid,
		"events are read back as they were published":                  readBack,
		"events are read by kind, pipeline, run and sequence":          readSelected,
		"reading can go on with new events":                            readFollowing,
		"reading stops when its reader stops":                          readStopped,
		"a message that is no event is read with its reason":           readInvalid,
		"an event under another's subject is no event":                 readMisplaced,
		"an event belongs under a subject with its id":                 readBare,
		"each event goes to one of those that share a reader":          followShared,
		"an event that was done is not delivered again":                followDone,
		"an event that is not settled is delivered again":              followUnsettled,
		"it is known how far a reader has come":                        followDelivered,
		"an event that was handed back comes after its delay":          followLater,
		"an event that can never be handled is dead-lettered verbatim": followNever,
		"following events ends with its context":                       followCancelled,
	}
}

func publishOnce(t *testing.T, bus Bus) {
	event := exampleEvent("run 1", "id-1")
	first, err := bus.Publish(t.Context(), event)
	must(t, err)
	if first.Duplicate || first.Sequence == 0 {
		t.Errorf("first receipt: %+v", first)
	}
	again, err := bus.Publish(t.Context(), event)
	must(t, err)
	if !again.Duplicate || again.Sequence != first.Sequence {
		t.Errorf("got receipt %+v, want a duplicate of sequence %d", again, first.Sequence)
	}
	if got := readAll(t, bus, events.Query{}); len(got) != 1 {
		t.Errorf("the log holds %d events, want 1", len(got))
	}
}

func publishTogether(t *testing.T, bus Bus) {
	const publishers = 8
	event := exampleEvent("run 1", "id-1")
	receipts, errs := make([]events.Receipt, publishers), make([]error, publishers)
	var group sync.WaitGroup
	for i := range publishers {
		group.Go(func() { receipts[i], errs[i] = bus.Publish(t.Context(), event) })
	}
	group.Wait()
	must(t, errors.Join(errs...))
	firsts := 0
	for _, receipt := range receipts {
		if !receipt.Duplicate {
			firsts++
		}
		if receipt.Sequence != receipts[0].Sequence {
			t.Errorf("receipts %+v and %+v name different events", receipt, receipts[0])
		}
	}
	if got := readAll(t, bus, events.Query{}); firsts != 1 || len(got) != 1 {
		t.Errorf("%d publishers were first and %d events are there, want 1 and 1", firsts, len(got))
	}
}

func publishOtherSource(t *testing.T, bus Bus) {
	_, err := bus.Publish(t.Context(), exampleEvent("run 1", "id-1"))
	must(t, err)
	other := exampleEvent("run 1", "id-1")
	other.Source = "/someone/else"
	_, err = bus.Publish(t.Context(), other)
	wantError(t, err, events.ErrConflict)
}

func publishOtherData(t *testing.T, bus Bus) {
	event := exampleEvent("run 1", "id-1")
	_, err := bus.Publish(t.Context(), event)
	must(t, err)
	again := event
	again.Time, again.Trace, again.Causation = time.Unix(9, 0), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "other"
	receipt, err := bus.Publish(t.Context(), again)
	must(t, err)
	if !receipt.Duplicate {
		t.Errorf("got receipt %+v for a publication at another time, want a duplicate", receipt)
	}
	event.Data = &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://bucket/other"}}}
	_, err = bus.Publish(t.Context(), event)
	wantError(t, err, events.ErrConflict)
}

// publishResultAgain has a worker that died after it published. The next one publishes the same
// result, with one attempt more.
func publishResultAgain(t *testing.T, bus Bus) {
	failed := func(attempt int) events.Event {
		return events.Event{
			ID: "id-1", Source: events.Source(events.FunctionTrain), Pipeline: "penguin", Run: "run 1",
			Data: &events.TrainingFailed{Failed: events.Failed{Reason: events.FailureModule, Message: "no", Attempt: attempt}},
		}
	}
	first, err := bus.Publish(t.Context(), failed(1))
	must(t, err)
	again, err := bus.Publish(t.Context(), failed(2))
	must(t, err)
	if !again.Duplicate || again.Sequence != first.Sequence {
		t.Errorf("got receipt %+v, want a duplicate of sequence %d", again, first.Sequence)
	}
}

func publishOverBytes(t *testing.T, bus Bus) {
	event := exampleEvent("run 1", "id-1")
	must(t, bus.Inject(t.Context(), events.EventSubject(event), nil, []byte("no event")))
	_, err := bus.Publish(t.Context(), event)
	wantError(t, err, events.ErrConflict)
}

func publishInvalid(t *testing.T, bus Bus) {
	event := exampleEvent("", "id-1")
	_, err := bus.Publish(t.Context(), event)
	wantInvalid(t, err, "run")
	if got := readAll(t, bus, events.Query{}); len(got) != 0 {
		t.Errorf("the log holds %d events, want none", len(got))
	}
}

func readBack(t *testing.T, bus Bus) {
	score := 0.25
	evs := []events.Event{
		exampleEvent("2026-11-21T10:00 päivä/1.*>", "id-1"),
		{
			ID: "id-2", Source: "/stoker/tune", Pipeline: "penguin", Run: "run 1", Time: time.Date(2026, 11, 21, 10, 0, 0, 5000, time.UTC),
			Causation: "id-1", Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
			Data: &events.HParamsReady{Hyperparameters: "s3://bucket/h", Values: map[string]any{"units": 8.0}, Score: &score},
		},
	}
	for _, event := range evs {
		_, err := bus.Publish(t.Context(), event)
		must(t, err)
	}
	read := readAll(t, bus, events.Query{})
	if len(read) != len(evs) {
		t.Fatalf("the log holds %d events, want %d", len(read), len(evs))
	}
	for i, got := range read {
		must(t, got.Err)
		wantEvent(t, got.Event, evs[i])
	}
}

func readSelected(t *testing.T, bus Bus) {
	publish := func(pipeline, run string, data events.Data, id string) {
		event := exampleEvent(run, id)
		event.Pipeline, event.Data = pipeline, data
		_, err := bus.Publish(t.Context(), event)
		must(t, err)
	}
	examples, graph := exampleEvent("", "").Data, &events.TransformReady{TransformGraph: "s3://bucket/graph"}
	publish("penguin", "a", examples, "1")
	publish("penguin", "a", graph, "2")
	publish("penguin", "a.b", examples, "3")
	publish("taxi", "a", examples, "4")
	for name, c := range map[string]struct {
		query events.Query
		want  string
	}{
		"all":            {events.Query{}, "1 2 3 4"},
		"pipeline":       {events.Query{Pipeline: "penguin"}, "1 2 3"},
		"run":            {events.Query{Pipeline: "penguin", Run: "a"}, "1 2"},
		"run with a dot": {events.Query{Run: "a.b"}, "3"},
		"kind":           {events.Query{Kinds: []events.Kind{events.KindTransformReady}}, "2"},
		// Of any pipeline.
		"two kinds":       {events.Query{Kinds: []events.Kind{events.KindTransformReady, events.KindExamplesReady}, Pipeline: "taxi"}, "4"},
		"from":            {events.Query{From: 3}, "3 4"},
		"until":           {events.Query{Until: 3}, "1 2"},
		"one":             {events.Query{From: 2, Until: 3}, "2"},
		"none there":      {events.Query{Pipeline: "cola"}, ""},
		"kind, run, from": {events.Query{Kinds: []events.Kind{events.KindExamplesReady}, Run: "a", From: 2}, "4"},
		"beyond the end":  {events.Query{From: 9}, ""},
	} {
		if got := ids(readAll(t, bus, c.query)); got != c.want {
			t.Errorf("%s: got events %q, want %q", name, got, c.want)
		}
	}
}

func readFollowing(t *testing.T, bus Bus) {
	_, err := bus.Publish(t.Context(), exampleEvent("run 1", "1"))
	must(t, err)
	ctx, stop := context.WithTimeout(t.Context(), soon)
	defer stop()
	seen := 0
	for recorded, err := range bus.Read(ctx, events.Query{Follow: true}) {
		must(t, err)
		seen++
		if want := fmt.Sprint(seen); recorded.Event.ID != want {
			t.Errorf("got event %s, want %s", recorded.Event.ID, want)
		}
		if seen == 3 {
			stop()
			continue
		}
		_, err = bus.Publish(ctx, exampleEvent("run 1", fmt.Sprint(seen+1)))
		must(t, err)
	}
	if seen != 3 {
		t.Errorf("saw %d events, want 3", seen)
	}
}

func readStopped(t *testing.T, bus Bus) {
	for i := range 3 {
		_, err := bus.Publish(t.Context(), exampleEvent("run 1", fmt.Sprint(i)))
		must(t, err)
	}
	for range bus.Read(t.Context(), events.Query{}) {
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var last error
	for _, err := range bus.Read(ctx, events.Query{}) {
		last = err
	}
	wantError(t, last, context.Canceled)
}

func readInvalid(t *testing.T, bus Bus) {
	header := map[string][]string{"ce-specversion": {"1.0"}, "ce-type": {"com.example.other"}}
	must(t, bus.Inject(t.Context(), "events.examples-ready.penguin.run-1", header, []byte("verbatim")))
	got := readAll(t, bus, events.Query{})
	if len(got) != 1 {
		t.Fatalf("read %d, want 1", len(got))
	}
	wantInvalid(t, got[0].Err, "type")
	if string(got[0].Message.Body) != "verbatim" || got[0].Message.Header["ce-type"][0] != "com.example.other" {
		t.Errorf("the message changed on the way: %+v", got[0].Message)
	}
}

func readMisplaced(t *testing.T, bus Bus) {
	header, body, err := events.Encode(exampleEvent("run 1", "id-1"))
	must(t, err)
	must(t, bus.Inject(t.Context(), "events.examples-ready.taxi.run=201", header, body))
	got := readAll(t, bus, events.Query{})
	if len(got) != 1 {
		t.Fatalf("read %d, want 1", len(got))
	}
	wantInvalid(t, got[0].Err, "NATS subject")
}

func readBare(t *testing.T, bus Bus) {
	header, body, err := events.Encode(exampleEvent("run 1", "id-1"))
	must(t, err)
	must(t, bus.Inject(t.Context(), "events.examples-ready.penguin.run=201", header, body))
	got := readAll(t, bus, events.Query{Pipeline: "penguin"})
	if len(got) != 1 {
		t.Fatalf("read %d, want 1", len(got))
	}
	wantInvalid(t, got[0].Err, "NATS subject")
}

func followShared(t *testing.T, bus Bus) {
	for i := range 4 {
		_, err := bus.Publish(t.Context(), exampleEvent("run 1", fmt.Sprint(i)))
		must(t, err)
	}
	deliveries, errs := make([]events.EventDelivery, 4), make([]error, 4)
	var group sync.WaitGroup
	for i := range deliveries { // at once: unsettled messages are redelivered after a while
		group.Go(func() { deliveries[i], errs[i] = bus.Follow(t.Context(), "dispatch", soon) })
	}
	group.Wait()
	must(t, errors.Join(errs...))
	seen := map[string]int{}
	for _, delivery := range deliveries {
		seen[delivery.Recorded().Event.ID]++
	}
	if len(seen) != 4 {
		t.Errorf("four deliveries brought %v, want each event once", seen)
	}
	other, err := bus.Follow(t.Context(), "audit", soon)
	must(t, err)
	if got := other.Recorded().Event.ID; got != "0" {
		t.Errorf("another reader begins with event %s, want 0", got)
	}
}

func followDone(t *testing.T, bus Bus) {
	_, err := bus.Publish(t.Context(), exampleEvent("run 1", "1"))
	must(t, err)
	delivery, err := bus.Follow(t.Context(), "dispatch", soon)
	must(t, err)
	must(t, delivery.Ack(t.Context()))
	_, err = bus.Follow(t.Context(), "dispatch", Lease+now)
	wantError(t, err, events.ErrEmpty)
}

func followDelivered(t *testing.T, bus Bus) {
	for _, id := range []string{"1", "2", "3"} {
		_, err := bus.Publish(t.Context(), exampleEvent("run 1", id))
		must(t, err)
	}
	for want := range uint64(3) {
		if got, err := bus.Delivered(t.Context(), "dispatch"); err != nil || got != want {
			t.Errorf("%d delivered, %v, want %d", got, err, want)
		}
		delivery, err := bus.Follow(t.Context(), "dispatch", soon)
		must(t, err)
		if want == 1 { // an unsettled one counts
			must(t, delivery.Ack(t.Context()))
		}
	}
	if got, err := bus.Delivered(t.Context(), "audit"); err != nil || got != 0 {
		t.Errorf("%d delivered to another reader, %v", got, err)
	}
}

func followUnsettled(t *testing.T, bus Bus) {
	_, err := bus.Publish(t.Context(), exampleEvent("run 1", "1"))
	must(t, err)
	first, err := bus.Follow(t.Context(), "dispatch", soon)
	must(t, err)
	again, err := bus.Follow(t.Context(), "dispatch", soon)
	must(t, err)
	if first.Recorded().Message.Sequence != again.Recorded().Message.Sequence {
		t.Error("another event came")
	}
}

func followLater(t *testing.T, bus Bus) {
	_, err := bus.Publish(t.Context(), exampleEvent("run 1", "1"))
	must(t, err)
	delivery, err := bus.Follow(t.Context(), "dispatch", soon)
	must(t, err)
	if n := delivery.Deliveries(); n != 1 {
		t.Errorf("delivered %d times at first", n)
	}
	const delay = 2 * now
	must(t, delivery.Nak(t.Context(), delay))
	_, err = bus.Follow(t.Context(), "dispatch", now)
	wantError(t, err, events.ErrEmpty)
	delivery, err = bus.Follow(t.Context(), "dispatch", soon)
	must(t, err)
	if n := delivery.Deliveries(); n != 2 {
		t.Errorf("delivered %d times, want 2", n)
	}
}

func followNever(t *testing.T, bus Bus) {
	header := map[string][]string{"Content-Type": {"text/plain"}, "X-Odd": {"one", "two"}}
	must(t, bus.Inject(t.Context(), "events.nonsense", header, []byte("\x00 not an event \xff")))
	delivery, err := bus.Follow(t.Context(), "dispatch", soon)
	must(t, err)
	wantInvalid(t, delivery.Recorded().Err, "")
	reason := events.DeadReason{Kind: events.FailureInput, Message: "no\nevent", Field: "x"}
	must(t, delivery.Term(t.Context(), reason))
	_, err = bus.Follow(t.Context(), "dispatch", Lease+now)
	wantError(t, err, events.ErrEmpty)
	wantDead(t, bus, events.DeadLetter{Message: delivery.Recorded().Message, Reason: reason})
}

func followCancelled(t *testing.T, bus Bus) {
	cause := errors.New("worker stops")
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error)
	go func() {
		_, err := bus.Follow(ctx, "dispatch", soon)
		ended <- err
	}()
	cancel(cause)
	wantError(t, <-ended, cause)
}
