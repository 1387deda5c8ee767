package access_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/integrate/notify"
	"github.com/stoker-ml/stoker/functions/integrate/openlineage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

// received keeps what receivers get.
type received chan string

func (c received) Send(_ context.Context, e openlineage.Event) error { c <- string(e.Type); return nil }

// hook returns the address of a webhook.
func (c received) hook(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var event struct{ Type string }
		_ = json.Unmarshal(body, &event)
		c <- event.Type
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// next returns the next n, in any order: events and dead letters have a consumer each.
func (c received) next(t *testing.T, n int) (got []string) {
	t.Helper()
	for range n {
		select {
		case what := <-c:
			got = append(got, what)
		case <-time.After(8 * time.Minute):
			t.Fatalf("after %v no more came", got)
		}
	}
	slices.Sort(got)
	return got
}

// TestNotifierAndExporterNeedTheirRolesAlone: a notifier sends a failure, a dead letter and a job
// that a foreign client terminated to a webhook; an exporter sends the same failure to a catalog,
// as it arrives and from the whole log. Neither needs more than its role permits.
func TestNotifierAndExporterNeedTheirRolesAlone(t *testing.T) {
	t.Parallel()
	server := startTenants(t)
	operator := server.as(t, "acme", access.Operator)
	hooked, heard := make(received, 64), make(received, 64)
	n, err := notify.New(server.as(t, "acme", access.Notifier), notify.Options{URL: hooked.hook(t), Logger: slog.New(server.grumbles)})
	if err != nil {
		t.Fatal(err)
	}
	x := openlineage.Exporter{Bus: server.as(t, "acme", access.Exporter), Store: storagetest.NewMemory("models"), Sender: heard, Log: slog.New(server.grumbles)}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	running, ctx := errgroup.WithContext(ctx)
	running.Go(func() error { return n.Run(ctx) })
	running.Go(func() error { return x.Follow(ctx, "openlineage") })
	listening(t, server, "EVENTS", "notify-default")
	listening(t, server, "DEAD", "notify-default")
	listening(t, server, "EVENTS", "openlineage")

	failed := events.Event{ID: "f", Source: events.Source(events.FunctionTrain), Pipeline: "penguin", Run: "monday", Data: &events.TrainingFailed{Failed: events.Failed{Reason: events.FailureModule, Message: "why", Execution: digest}}}
	if _, err := operator.Publish(t.Context(), failed); err != nil {
		t.Fatal(err)
	}
	if err := deadLetter(t.Context(), operator); err != nil {
		t.Fatal(err)
	}
	terminate(t, server, operator)
	if got := hooked.next(t, 3); !slices.Equal(got, []string{"dev.stoker.message.dead.v1", "dev.stoker.message.dead.v1", "dev.stoker.training.failed.v1"}) {
		t.Errorf("the webhook received %v", got)
	}
	if got := heard.next(t, 1); !slices.Equal(got, []string{"FAIL"}) && !slices.Equal(got, []string{"START"}) {
		t.Errorf("the catalog received %v", got)
	}
	if sent, err := x.Replay(t.Context(), 1); err != nil || sent == 0 {
		t.Errorf("of the whole log: %d sent, %v", sent, err)
	}
	stop()
	if err := running.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for _, said := range server.grumbles.all() {
		t.Error("refused to a role:", said)
	}
}

// listening waits until a listener has its consumer, because earlier messages are not delivered to
// it.
func listening(t *testing.T, server tenants, stream, name string) {
	t.Helper()
	conn, _ := raw(t, server, access.Operator)
	for end := time.Now().Add(8 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		answer, err := conn.RequestWithContext(t.Context(), "$JS.API.CONSUMER.INFO."+stream+"."+name, nil)
		if err != nil {
			t.Fatal(err)
		}
		var said struct{ Error *struct{ Description string } }
		if err := json.Unmarshal(answer.Data, &said); err != nil || said.Error == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s has no consumer of %s: %s; the bus said %q", name, stream, answer.Data, server.grumbles.all())
		}
	}
}

// terminate has a foreign client terminate a job.
func terminate(t *testing.T, server tenants, operator *jetstream.Bus) {
	t.Helper()
	if err := offer(events.FunctionTrain)(t.Context(), operator); err != nil {
		t.Fatal(err)
	}
	conn, _ := raw(t, server, access.Operator)
	job, err := conn.Request("$JS.API.CONSUMER.MSG.NEXT.JOBS.train-cpu", []byte("1"), quick)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(job.Respond([]byte("+TERM")), conn.Flush()); err != nil {
		t.Fatal(err)
	}
}
