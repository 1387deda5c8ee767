package jetstream_test

import (
	"testing"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events/jetstream"
)

// A server that is killed between the two parts of an acknowledgement finds a delivery without its
// message, as after a deletion, and reports that it ended it. The job was done: there is no dead
// letter.
func TestWhatTheServerEndsByItselfIsNoDeadLetter(t *testing.T) {
	t.Parallel()
	server := startBus(t)
	bus := connect(t, server, jetstream.Options{Create: true})
	offer(t, bus)
	claim := take(t, bus, 2*time.Minute)
	client, err := js.New(dial(t, server))
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := client.Stream(t.Context(), "JOBS")
	if err != nil {
		t.Fatal(err)
	}
	if err := jobs.DeleteMsg(t.Context(), claim.Message().Sequence); err != nil {
		t.Fatal(err)
	}
	waitForAdvisories(t, server, 1)
	waitForDead(t, bus, 0)
}
