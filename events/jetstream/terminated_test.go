package jetstream_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/local/natsserver"
)

// terminate terminates the next message of a consumer, like a foreign client.
func terminate(t *testing.T, server *natsserver.Server, stream, consumer, reason string) {
	t.Helper()
	client, err := js.New(dial(t, server))
	if err != nil {
		t.Fatal(err)
	}
	config := js.ConsumerConfig{Durable: consumer, AckPolicy: js.AckExplicitPolicy}
	found, err := client.Consumer(t.Context(), stream, consumer)
	if errors.Is(err, js.ErrConsumerNotFound) {
		found, err = client.CreateConsumer(t.Context(), stream, config)
	}
	if err != nil {
		t.Fatal(err)
	}
	msg, err := found.Next(js.FetchMaxWait(10 * time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if reason == "" {
		err = msg.Term()
	} else {
		err = msg.TermWithReason(reason)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// waitForDead waits until there are n dead letters: the server sends its advisories some time
// later.
func waitForDead(t *testing.T, bus events.Bus, n int) []events.DeadLetter {
	t.Helper()
	for deadline := time.Now().Add(8 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		var deadLetters []events.DeadLetter
		for deadLetter, err := range bus.DeadLetters(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			deadLetters = append(deadLetters, deadLetter)
		}
		if len(deadLetters) == n {
			return deadLetters
		}
		if time.Now().After(deadline) {
			t.Fatalf("got dead letters %+v, want %d", deadLetters, n)
		}
	}
}

func TestAJobThatAForeignClientEndedIsADeadLetter(t *testing.T) {
	t.Parallel()
	server := startBus(t)
	bus := connect(t, server, jetstream.Options{Create: true})
	offer(t, bus)
	terminate(t, server, "JOBS", "train-cpu", "not in the mood")
	deadLetter := waitForDead(t, bus, 1)[0]
	if deadLetter.Message.Stream != "JOBS" || deadLetter.Message.Sequence != 1 || deadLetter.Sequence == 0 || deadLetter.Stored.IsZero() {
		t.Errorf("letter %+v, want one for job message 1", deadLetter)
	}
	for _, part := range []string{"train-cpu", "not in the mood", "no longer stored"} {
		if !strings.Contains(deadLetter.Reason.Message, part) {
			t.Errorf("reason %q does not say %q", deadLetter.Reason.Message, part)
		}
	}
	if err := bus.DeleteDeadLetter(t.Context(), deadLetter.Sequence); err != nil {
		t.Fatal(err)
	}
	waitForDead(t, bus, 0)
	if err := bus.DeleteDeadLetter(t.Context(), deadLetter.Sequence); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("dropped again: %v", err)
	}
}

// The log keeps its messages, so the dead letter can show the event. Two clients terminated it:
// there is one dead letter.
func TestAnEventThatForeignClientsEndedIsOneDeadLetterWithTheEvent(t *testing.T) {
	t.Parallel()
	server := startBus(t)
	bus := connect(t, server, jetstream.Options{Create: true})
	if _, err := bus.Publish(t.Context(), plainEvent()); err != nil {
		t.Fatal(err)
	}
	terminate(t, server, "EVENTS", "dispatch", "poison")
	waitForDead(t, bus, 1)
	terminate(t, server, "EVENTS", "audit", "")
	waitForAdvisories(t, server, 2)
	deadLetter := waitForDead(t, bus, 1)[0]
	want := events.EventSubject(plainEvent())
	if deadLetter.Message.Subject != want || len(deadLetter.Message.Body) == 0 || deadLetter.Message.Header["ce-id"] == nil {
		t.Errorf("message %+v, want the event under %s", deadLetter.Message, want)
	}
	if err := bus.DeleteDeadLetter(t.Context(), deadLetter.Sequence); err != nil {
		t.Fatal(err)
	}
	if left := waitForDead(t, bus, 0); left != nil {
		t.Errorf("left after the drop: %+v", left)
	}
}

// A dead letter of Stoker has more than the server's advisory.
func TestAMessageDeadLetteredTwiceIsListedByItsDeadLetterOnly(t *testing.T) {
	t.Parallel()
	server := startBus(t)
	bus := connect(t, server, jetstream.Options{Create: true})
	if _, err := bus.Publish(t.Context(), plainEvent()); err != nil {
		t.Fatal(err)
	}
	terminate(t, server, "EVENTS", "audit", "poison")
	waitForAdvisories(t, server, 1)
	delivery, err := bus.Follow(t.Context(), "dispatch", 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	reason := events.DeadReason{Kind: events.FailureInput, Message: "no such pipeline", Field: "subject"}
	if err := delivery.Term(t.Context(), reason); err != nil {
		t.Fatal(err)
	}
	deadLetter := waitForDead(t, bus, 1)[0]
	if deadLetter.Reason != reason {
		t.Errorf("reason %+v, want %+v", deadLetter.Reason, reason)
	}
	if err := bus.DeleteDeadLetter(t.Context(), deadLetter.Sequence); err != nil {
		t.Fatal(err)
	}
	waitForDead(t, bus, 0) // the advisory does not replace it
}

// Messages that we dead-letter ourselves must not look as if a foreign client terminated them,
// neither before nor after the deletion of the dead letter.
func TestOurOwnDeadLettersLeaveNoAdvisory(t *testing.T) {
	t.Parallel()
	server := startBus(t)
	bus := connect(t, server, jetstream.Options{Create: true})
	advised := make(chan *nats.Msg, 8)
	if _, err := dial(t, server).ChanSubscribe("$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.>", advised); err != nil {
		t.Fatal(err)
	}
	offer(t, bus)
	if err := take(t, bus, 2*time.Minute).Term(t.Context(), events.DeadReason{Kind: events.FailureModule, Message: "boom"}); err != nil {
		t.Fatal(err)
	}
	deadLetter := waitForDead(t, bus, 1)[0]
	if err := bus.DeleteDeadLetter(t.Context(), deadLetter.Sequence); err != nil {
		t.Fatal(err)
	}
	waitForDead(t, bus, 0)
	offer(t, bus)
	terminate(t, server, "JOBS", "train-cpu", "foreign") // the channel works
	if got := <-advised; !strings.Contains(string(got.Data), "foreign") {
		t.Errorf("advisory of our own dead letter: %s", got.Data)
	}
}

func waitForAdvisories(t *testing.T, server *natsserver.Server, n uint64) {
	t.Helper()
	client, err := js.New(dial(t, server))
	if err != nil {
		t.Fatal(err)
	}
	dead, err := client.Stream(t.Context(), "DEAD")
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(8 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		info, err := dead.Info(t.Context(), js.WithSubjectFilter("$JS.EVENT.ADVISORY.>"))
		if err != nil {
			t.Fatal(err)
		}
		if uint64(len(info.State.Subjects)) >= n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("DEAD holds advisories %v, want %d", info.State.Subjects, n)
		}
	}
}
