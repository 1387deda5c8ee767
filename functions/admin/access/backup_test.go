package access_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/infra/cluster"
)

// An operator takes a snapshot of a stream, whose chunks are acknowledged one by one, and restores
// the stream from it, like `nats stream backup` and `nats stream restore`.
func TestAnOperatorBacksUpAndRestores(t *testing.T) {
	t.Parallel()
	server := startTenants(t)
	bus := server.as(t, "acme", access.Operator)
	const published = 100
	for n := range published {
		event := examples("penguin")
		event.ID = fmt.Sprint(n)
		if _, err := bus.Publish(t.Context(), event); err != nil {
			t.Fatal(err)
		}
	}
	conn, _ := raw(t, server, access.Operator)
	copied, err := cluster.Backup(conn, "EVENTS", 1024)
	if err != nil || len(copied.Chunks) < 2 {
		t.Fatalf("%d chunks, %v", len(copied.Chunks), err)
	}
	if answer, err := conn.Request("$JS.API.STREAM.DELETE.EVENTS", nil, quick); err != nil || strings.Contains(string(answer.Data), `"error"`) {
		t.Fatalf("delete: %v, %v", answer, err)
	}
	if err := copied.Restore(conn); err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, err := range bus.Read(t.Context(), events.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		read++
	}
	if read != published {
		t.Errorf("%d events came back, want %d", read, published)
	}
}
