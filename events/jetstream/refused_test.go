package jetstream_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
)

// restrictedBus has a user "admin" with all permissions, and "uploader", which may publish examples
// of penguin and wait for answers.
func restrictedBus(t *testing.T) (urlOf func(user string) string) {
	t.Helper()
	allowed := &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: []string{"events.examples-ready.penguin.>", "$JS.API.DIRECT.GET.>", "$JS.API.STREAM.INFO.>"}},
		Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>"}},
	}
	nats, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true,
		Users: []*server.User{{Username: "admin", Password: "admin"}, {Username: "uploader", Password: "uploader", Permissions: allowed}},
	})
	if err != nil {
		t.Fatal(err)
	}
	go nats.Start()
	t.Cleanup(func() { nats.Shutdown(); nats.WaitForShutdown() })
	if !nats.ReadyForConnections(2 * time.Minute) {
		t.Fatal("bus is not ready")
	}
	return func(user string) string { return "nats://" + user + ":" + user + "@" + nats.Addr().String() }
}

// quick is far below the timeout of an unanswered request.
const quick = 2 * time.Second

func TestWhatTheBusForbidsIsRefusedAtOnceAndByName(t *testing.T) {
	t.Parallel()
	urlOf := restrictedBus(t)
	admin, err := jetstream.Connect(t.Context(), urlOf("admin"), jetstream.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	uploader, err := jetstream.Connect(t.Context(), urlOf("uploader"), jetstream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer uploader.Close()
	if _, err := uploader.Publish(t.Context(), plainEvent()); err != nil {
		t.Errorf("what it may publish: %v", err)
	}

	taxi := plainEvent()
	taxi.Pipeline = "taxi"
	joins, err := uploader.KV(t.Context(), events.KVJoins)
	if err != nil {
		t.Fatal(err)
	}
	for subject, try := range map[string]func() error{
		"events.examples-ready.taxi": func() error { _, err := uploader.Publish(t.Context(), taxi); return err },
		"$KV.JOINS.k":                func() error { _, err := joins.Create(t.Context(), "k", nil); return err },
		"dead.EVENTS.1": func() error {
			return uploader.DeadLetter(t.Context(), events.DeadLetter{Message: events.Message{Stream: "EVENTS", Sequence: 1}})
		},
	} {
		began := time.Now()
		err := try()
		if !errors.Is(err, events.ErrRefused) || !strings.Contains(err.Error(), subject) {
			t.Errorf("%s: got %v, want a refusal that names the subject", subject, err)
		}
		if took := time.Since(began); took > quick {
			t.Errorf("%s: took %s", subject, took)
		}
	}
}

func TestAnEventThatIsTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	event := plainEvent()
	event.Data = &events.ExamplesReady{
		Examples: []events.Examples{{URI: "s3://tfx/penguin/1"}},
		Request:  events.Request{PipelineSpec: []byte(`{"x":"` + strings.Repeat("x", 2<<20) + `"}`)},
	}
	_, err := connect(t, startBus(t), jetstream.Options{Create: true}).Publish(t.Context(), event)
	if !errors.Is(err, events.ErrTooLarge) || !strings.Contains(err.Error(), "bytes, where a message may have 1048576") {
		t.Errorf("got %v, want how large it is and may be", err)
	}
}

func TestWrongCredentialsAreRefused(t *testing.T) {
	t.Parallel()
	_, err := jetstream.Connect(t.Context(), startBus(t).Address(), jetstream.Options{})
	if !errors.Is(err, events.ErrRefused) {
		t.Errorf("got %v, want a refusal", err)
	}
}

func TestABadAddressIsNotRepeatedWithItsPassword(t *testing.T) {
	t.Parallel()
	_, err := jetstream.Connect(t.Context(), "nats://stoker:geheim@host:port", jetstream.Options{})
	if err == nil || strings.Contains(err.Error(), "geheim") {
		t.Errorf("got %v, want an error without the password", err)
	}
}
