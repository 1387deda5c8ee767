package access_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/access"
)

// An operator takes a snapshot of a stream, whose chunks are acknowledged one by one, and makes the stream anew of it: as
// `nats stream backup` and `nats stream restore` do.
func TestAnOperatorBacksUpAndRestores(t *testing.T) {
	t.Parallel()
	bus := startTenants(t)
	box := bus.as(t, "acme", access.Operator)
	const facts = 100
	for n := range facts {
		fact := examples("penguin")
		fact.ID = fmt.Sprint(n)
		if _, err := box.Publish(t.Context(), fact); err != nil {
			t.Fatal(err)
		}
	}
	conn, _ := raw(t, bus, access.Operator)
	chunks, err := conn.SubscribeSync(conn.NewInbox())
	if err != nil {
		t.Fatal(err)
	}
	var copied struct {
		Config json.RawMessage `json:"config"`
		State  json.RawMessage `json:"state"`
	}
	mustAsk(t, conn, "$JS.API.STREAM.SNAPSHOT.FACTS", fmt.Sprintf(`{"deliver_subject": %q, "chunk_size": 1024, "window_size": 1024}`, chunks.Subject), &copied)
	archive := received(t, chunks)
	mustAsk(t, conn, "$JS.API.STREAM.DELETE.FACTS", "", &struct{}{})

	about, err := json.Marshal(copied)
	if err != nil {
		t.Fatal(err)
	}
	var to struct {
		DeliverSubject string `json:"deliver_subject"`
	}
	mustAsk(t, conn, "$JS.API.STREAM.RESTORE.FACTS", string(about), &to)
	for _, chunk := range archive {
		if _, err := conn.Request(to.DeliverSubject, chunk, quick); err != nil {
			t.Fatal(err)
		}
	}
	mustAsk(t, conn, to.DeliverSubject, "", &struct{}{})
	read := 0
	for _, err := range box.Read(t.Context(), events.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		read++
	}
	if read != facts {
		t.Errorf("%d facts came back, want %d", read, facts)
	}
}

// received acknowledges chunks until the end.
func received(t *testing.T, chunks *nats.Subscription) (all [][]byte) {
	t.Helper()
	for {
		chunk, err := chunks.NextMsg(2 * quick)
		if err != nil {
			t.Fatal(err)
		}
		if len(chunk.Data) == 0 {
			if status := chunk.Header.Get("Status"); status != "204" || len(all) < 2 {
				t.Fatalf("%d chunks, then %v", len(all), chunk.Header)
			}
			return all
		}
		all = append(all, chunk.Data)
		if chunk.Reply != "" {
			if err := chunk.Respond(nil); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func mustAsk(t *testing.T, conn *nats.Conn, subject, body string, into any) {
	t.Helper()
	answer, err := conn.Request(subject, []byte(body), quick)
	if err != nil {
		t.Fatalf("%s: %v", subject, err)
	}
	if strings.Contains(string(answer.Data), `"error"`) {
		t.Fatalf("%s: %s", subject, answer.Data)
	}
	if err := json.Unmarshal(answer.Data, into); err != nil {
		t.Fatalf("%s: %v", subject, err)
	}
}
