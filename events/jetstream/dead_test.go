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
	"github.com/stoker-ml/stoker/local/bus"
)

// The server takes messages of up to 1 MiB; in a dead letter they are larger.
func TestAMessageAsLargeAsTheBusTakesCanBeBuried(t *testing.T) {
	t.Parallel()
	server := startBus(t)
	box := connect(t, server, jetstream.Options{Create: true})
	body := bytes.Repeat([]byte("no fact "), (1<<20-1024)/8)
	if _, err := dial(t, server).RequestWithContext(t.Context(), "facts.examples-ready.penguin.big", body); err != nil {
		t.Fatal(err)
	}
	delivery, err := box.Follow(t.Context(), "dispatch", 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if err := delivery.Never(t.Context(), events.DeadReason{Kind: events.FailureInput, Message: "no JSON"}); err != nil {
		t.Fatal(err)
	}
	for letter, err := range box.Dead(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if letter.Message.Cut == nil || letter.Message.Cut.Bytes != len(body) || !bytes.HasPrefix(body, letter.Message.Body) {
			t.Errorf("%d bytes of %d are kept, cut %+v", len(letter.Message.Body), len(body), letter.Message.Cut)
		}
		return
	}
	t.Error("nothing was buried")
}

// A stream that was removed and made again counts its messages from 1: a second job that is given up leaves a letter too.
func TestAJobGivenUpLeavesALetterThoughItsStreamWasMadeAnew(t *testing.T) {
	t.Parallel()
	server := startBus(t)
	giveUp := func(box *jetstream.Letterbox, id string) {
		t.Helper()
		job := events.Job{
			ID: id, Function: events.FunctionTrain, Class: "cpu", Pipeline: "penguin", Run: "run-" + id, Spec: []byte("{}"),
			Causes: []events.Cause{{Kind: events.KindTransformReady, Source: "/up", ID: "x", Sequence: 1}},
		}
		if err := box.Offer(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		claim, err := box.Take(t.Context(), job.Function, []string{job.Class}, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if err := claim.Never(t.Context(), events.DeadReason{Kind: events.FailureModule, Message: id}); err != nil {
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
	box := connectAs(t, server, jetstream.Options{Create: true})
	giveUp(box, "two")
	var letters []string
	for letter, err := range box.Dead(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		letters = append(letters, fmt.Sprint(letter.Message.Sequence, " ", letter.Reason.Message))
	}
	if got := strings.Join(letters, ", "); got != "1 one, 1 two" {
		t.Errorf("letters: %s", got)
	}
}

// deleteStream removes a stream as `nats stream rm` does.
func deleteStream(t *testing.T, server *bus.Server, name string) js.JetStream {
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

// A foreign client ends the first job of a queue that was made anew: the letter of another first job, of the queue before, is about
// that one alone.
func TestAForeignEndIsShownBesidesALetterOfTheStreamBefore(t *testing.T) {
	t.Parallel()
	server := startBus(t)
	box := connect(t, server, jetstream.Options{Create: true})
	offer(t, box)
	if err := take(t, box, 2*time.Minute).Never(t.Context(), events.DeadReason{Kind: events.FailureModule, Message: "boom"}); err != nil {
		t.Fatal(err)
	}
	waitForDead(t, box, 1)
	deleteStream(t, server, events.StreamJobs)
	box = connectAs(t, server, jetstream.Options{Create: true})
	offer(t, box)
	terminate(t, server, events.StreamJobs, "train-cpu", "foreign")
	letters := waitForDead(t, box, 2)
	if err := box.Drop(t.Context(), letters[0].Sequence); err != nil {
		t.Fatal(err)
	}
	if left := waitForDead(t, box, 1)[0]; left.Sequence != letters[1].Sequence || !strings.Contains(left.Reason.Message, "foreign") {
		t.Errorf("left: %+v, want the one that the foreign client ended", left)
	}
}

// What a foreign client ended is gone with its stream: a message of the new stream is not it, though it has its number.
func TestAForeignEndShowsNoMessageOfAnotherStream(t *testing.T) {
	t.Parallel()
	server := startBus(t)
	box := connect(t, server, jetstream.Options{Create: true})
	if _, err := box.Publish(t.Context(), plainFact()); err != nil {
		t.Fatal(err)
	}
	terminate(t, server, events.StreamFacts, "audit", "foreign")
	waitForDead(t, box, 1)
	deleteStream(t, server, events.StreamFacts)
	box = connectAs(t, server, jetstream.Options{Create: true})
	if _, err := box.Publish(t.Context(), plainFact()); err != nil {
		t.Fatal(err)
	}
	if letter := waitForDead(t, box, 1)[0]; letter.Message.Subject != "" || !strings.Contains(letter.Reason.Message, "gone") {
		t.Errorf("letter %+v, want one that says that its message is gone", letter)
	}
}
