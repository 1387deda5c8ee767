package access_test

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/dispatch"
)

// TestADispatcherMakesItsConsumerAgain checks it after the consumer was deleted, at its old
// sequence, without an operator.
func TestADispatcherMakesItsConsumerAgain(t *testing.T) {
	t.Parallel()
	server := startTenants(t)
	operator := server.as(t, "acme", access.Operator) // makes the streams
	if _, err := operator.Publish(t.Context(), examples("penguin")); err != nil {
		t.Fatal(err)
	}
	bus := server.as(t, "acme", access.Dispatcher)
	delivery, err := bus.Follow(t.Context(), dispatch.Reader, quick)
	if err == nil {
		err = delivery.Ack(t.Context()) // writes its position
	}
	if err != nil {
		t.Fatal(err)
	}
	conn, _ := raw(t, server, access.Operator)
	client, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	if err := client.DeleteConsumer(t.Context(), events.StreamEvents, dispatch.Reader); err != nil {
		t.Fatal(err)
	}
	for range 5 { // it first has to find out that the consumer is gone
		if _, err = bus.Follow(t.Context(), dispatch.Reader, time.Second); errors.Is(err, events.ErrEmpty) {
			break
		}
	}
	if !errors.Is(err, events.ErrEmpty) {
		t.Fatalf("got %v, want that no event waits", err)
	}
	consumer, err := client.Consumer(t.Context(), events.StreamEvents, dispatch.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if config := consumer.CachedInfo().Config; config.DeliverPolicy != jetstream.DeliverByStartSequencePolicy || config.OptStartSeq != 2 {
		t.Errorf("it begins %v at %d, want at 2", config.DeliverPolicy, config.OptStartSeq)
	}
}
