package jetstream_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
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
