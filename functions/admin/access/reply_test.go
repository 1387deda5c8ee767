package access_test

import (
	"errors"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/access"
)

// A server sends a reply to the subject that the request names, with the server's own permissions.
// Upstream, whose events have any content, could deploy a pipeline like this.
func TestAnswersAreNotWrittenWhereTheirReaderMayNot(t *testing.T) {
	t.Parallel()
	server := startTenants(t)
	operator := server.as(t, "acme", access.Operator)
	pipelines, err := operator.KV(t.Context(), events.KVPipelines)
	if err != nil {
		t.Fatal(err)
	}
	conn, _ := raw(t, server, access.Upstream)
	if err := conn.PublishRequest("events.examples-ready.penguin.monday.1", "$KV.PIPELINES.penguin", []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	if err := conn.PublishRequest("$JS.acme.API.DIRECT.GET.EVENTS.events.examples-ready.penguin.monday.1", "$KV.PIPELINES.taxi", nil); err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	// This reply arrives after those: the stream handles one message after the other.
	event := examples("penguin")
	event.ID = "2"
	if _, err := server.as(t, "acme", access.Upstream).Publish(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"penguin", "taxi"} {
		if entry, err := pipelines.Get(t.Context(), name); !errors.Is(err, events.ErrNotFound) {
			t.Errorf("%s is %s, %v", name, entry.Value, err)
		}
	}
}
