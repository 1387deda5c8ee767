package jetstream_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/local/natsserver"
)

// The server accepts messages of up to 1 MiB; in a dead letter they are larger.
func TestAMessageAsLargeAsTheBusTakesCanBeDeadLettered(t *testing.T) {
	t.Parallel()
	server := startBus(t)
	bus := connect(t, server, jetstream.Options{Create: true})
	body := bytes.Repeat([]byte("no event"), (1<<20-1024)/8)
	if _, err := dial(t, server).RequestWithContext(t.Context(), "events.examples-ready.penguin.big", body); err != nil {
		t.Fatal(err)
	}
	delivery, err := bus.Follow(t.Context(), "dispatch", 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if err := delivery.Term(t.Context(), events.DeadReason{Kind: events.FailureInput, Message: "no JSON"}); err != nil {
		t.Fatal(err)
	}
	for deadLetter, err := range bus.DeadLetters(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if deadLetter.Message.Cut == nil || deadLetter.Message.Cut.Bytes != len(body) || !bytes.HasPrefix(body, deadLetter.Message.Body) {
			t.Errorf("%d bytes of %d are kept, cut %+v", len(deadLetter.Message.Body), len(body), deadLetter.Message.Cut)
		}
		return
	}
	t.Error("nothing was dead-lettered")
}

// A stream that was removed and created again restarts at sequence 1: a second job that is given up
// leaves a dead letter too.
func TestAJobGivenUpLeavesADeadLetterThoughItsStreamWasMadeAnew(t *testing.T) {
	t.Parallel()
	server := startBus(t)
	giveUp := func(bus *jetstream.Bus, id string) {
		t.Helper()
		job := events.Job{
			ID: id, Function: events.FunctionTrain, Class: "cpu", Pipeline: "penguin", Run: "run-" + id, Spec: []byte("{}"),
			Causes: []events.Cause{{Kind: events.KindTransformReady, Source: "/up", ID: "x", Sequence: 1}},
		}
		if err := bus.Enqueue(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		claim, err := bus.Claim(t.Context(), job.Function, []string{job.Class}, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if err := claim.Term(t.Context(), events.DeadReason{Kind: events.FailureModule, Message: id}); err != nil {
			t.Fatal(err)
		}
	}
	giveUp(connectAs(t, server, jetstream.Options{Create: true}), "one")
	stream, err := js.New(dial(t, server))
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.DeleteStream(t.Context(), events.StreamJobs); err != nil {
		t.Fatal(err)
	}
	bus := connectAs(t, server, jetstream.Options{Create: true})
	giveUp(bus, "two")
	var deadLetters []string
	for deadLetter, err := range bus.DeadLetters(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		deadLetters = append(deadLetters, fmt.Sprint(deadLetter.Message.Sequence, " ", deadLetter.Reason.Message))
	}
	if got := strings.Join(deadLetters, ", "); got != "1 one, 1 two" {
		t.Errorf("letters: %s", got)
	}
}

// What another client publishes among the dead letters is shown, and can be deleted.
func TestAForeignMessageAmongTheDeadLettersCanBeDeleted(t *testing.T) {
	t.Parallel()
	server := startBus(t)
	bus := connectAs(t, server, jetstream.Options{Create: true})
	client, err := js.New(dial(t, server))
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{"{}", "no JSON", `{"message": {"stream": "JOBS"}}`} {
		if _, err := client.Publish(t.Context(), "dead.foreign", []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	for _, letter := range waitForDead(t, bus, 3) {
		if !strings.Contains(letter.Reason.Message, "not a dead letter") || letter.Message.Subject != "dead.foreign" {
			t.Errorf("%+v, want the foreign message, and why it is none", letter)
		}
		if err := bus.DeleteDeadLetter(t.Context(), letter.Sequence); err != nil {
			t.Error(err)
		}
	}
	for letter := range bus.DeadLetters(t.Context()) {
		t.Errorf("dead letter %d is left", letter.Sequence)
	}
}

// deleteStream removes a stream like `nats stream rm`.
func deleteStream(t *testing.T, server *natsserver.Server, name string) js.JetStream {
	t.Helper()
	client, err := js.New(dial(t, server))
	if err == nil {
		err = client.DeleteStream(t.Context(), name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// A foreign client terminates the first job of a queue that was created again: the dead letter of
// another first job, of the previous queue, is only about that one.
func TestAForeignEndIsShownBesidesADeadLetterOfTheStreamBefore(t *testing.T) {
	t.Parallel()
	server := startBus(t)
	bus := connect(t, server, jetstream.Options{Create: true})
	offer(t, bus)
	if err := take(t, bus, 2*time.Minute).Term(t.Context(), events.DeadReason{Kind: events.FailureModule, Message: "boom"}); err != nil {
		t.Fatal(err)
	}
	waitForDead(t, bus, 1)
	deleteStream(t, server, events.StreamJobs)
	bus = connectAs(t, server, jetstream.Options{Create: true})
	offer(t, bus)
	terminate(t, server, events.StreamJobs, "train-cpu", "foreign")
	deadLetters := waitForDead(t, bus, 2)
	if err := bus.DeleteDeadLetter(t.Context(), deadLetters[0].Sequence); err != nil {
		t.Fatal(err)
	}
	if left := waitForDead(t, bus, 1)[0]; left.Sequence != deadLetters[1].Sequence || !strings.Contains(left.Reason.Message, "foreign") {
		t.Errorf("left: %+v, want the one that the foreign client ended", left)
	}
}

// A message that a foreign client terminated is gone with its stream: a message of the new stream
// with the same sequence is not it.
func TestAForeignEndShowsNoMessageOfAnotherStream(t *testing.T) {
	t.Parallel()
	server := startBus(t)
	bus := connect(t, server, jetstream.Options{Create: true})
	if _, err := bus.Publish(t.Context(), plainEvent()); err != nil {
		t.Fatal(err)
	}
	terminate(t, server, events.StreamEvents, "audit", "foreign")
	waitForDead(t, bus, 1)
	deleteStream(t, server, events.StreamEvents)
	bus = connectAs(t, server, jetstream.Options{Create: true})
	if _, err := bus.Publish(t.Context(), plainEvent()); err != nil {
		t.Fatal(err)
	}
	if deadLetter := waitForDead(t, bus, 1)[0]; deadLetter.Message.Subject != "" || !strings.Contains(deadLetter.Reason.Message, "no longer stored") {
		t.Errorf("letter %+v, want one that says that its message is gone", deadLetter)
	}
}
