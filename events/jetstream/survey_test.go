package jetstream_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
)

func survey(t *testing.T, url string) map[string]jetstream.Part {
	t.Helper()
	found, err := jetstream.Survey(t.Context(), url, jetstream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if found.JetStream != nil || found.Version == "" || found.RoundTrip <= 0 {
		t.Errorf("%+v", found)
	}
	parts := map[string]jetstream.Part{}
	for _, p := range found.Parts {
		parts[p.Name] = p
	}
	return parts
}

func TestASurveyFindsWhatIsMissingAndWhatDiffers(t *testing.T) {
	t.Parallel()
	bus := startBus(t)
	for name, p := range survey(t, bus.URL()) {
		if !errors.Is(p.Err, events.ErrNotFound) {
			t.Errorf("%s, on an empty bus: %v", name, p.Err)
		}
	}
	made, err := jetstream.Connect(t.Context(), bus.URL(), jetstream.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer made.Close()
	for name, p := range survey(t, bus.URL()) {
		if p.Err != nil || len(p.Differences) > 0 {
			t.Errorf("%s, as it is made: %+v", name, p)
		}
	}
	change(t, bus.URL())
	parts := survey(t, bus.URL())
	var differ []string
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		for _, d := range parts[name].Differences {
			differ = append(differ, name+": "+d.Field+" "+d.Defined+" -> "+d.Is)
		}
	}
	want := []string{
		"KV bucket JOINS: max_messages_per_subject 1 -> 2",
		"consumer dispatch of EVENTS: time to acknowledge 30s -> 5s",
		"stream EVENTS: discard DiscardNew -> DiscardOld", "stream EVENTS: max_age 0s -> 1h0m0s",
	}
	if !slices.Equal(differ, want) {
		t.Errorf("%q\nwant %q", differ, want)
	}
	if evs := parts["stream EVENTS"]; evs.Bytes.Limit != 1<<20 || evs.Clock.Abs() > time.Second {
		t.Errorf("%+v", evs)
	}
	if err := parts["stream BUCKETS"].Err; !errors.Is(err, events.ErrNotFound) {
		t.Error(err)
	}
}

// Whoever asks why nothing is trained learns that no dispatcher is running.
func TestASurveyFindsWhetherADispatcherReads(t *testing.T) {
	t.Parallel()
	server := startBus(t)
	bus := connect(t, server, jetstream.Options{Create: true})
	const name = "consumer dispatch of EVENTS"
	if _, err := bus.Publish(t.Context(), plainEvent()); err != nil {
		t.Fatal(err)
	}
	if p := survey(t, server.URL())[name]; !p.Unread || p.Err != nil {
		t.Errorf("without a reader: %+v", p)
	}
	handled, err := bus.Follow(t.Context(), "dispatch", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if p := survey(t, server.URL())[name]; p.Unread || p.Err != nil {
		t.Errorf("with a message that is being handled: %+v", p)
	}
	if err := handled.Ack(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = bus.Follow(ctx, "dispatch", time.Minute) // until it is stopped: there is no event
	}()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		p := survey(t, server.URL())[name]
		if !p.Unread && p.Err == nil {
			break
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("with an open request: %+v", p)
		}
	}
	stop()
	<-ended
}

// change changes a bus as a user might who does not know what depends on it.
func change(t *testing.T, url string) {
	t.Helper()
	nc, err := dialURL(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	client, err := js.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	update := func(name string, change func(*js.StreamConfig)) {
		stream, err := client.Stream(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		config := stream.CachedInfo().Config
		change(&config)
		if _, err := client.UpdateStream(t.Context(), config); err != nil {
			t.Fatal(err)
		}
	}
	update("EVENTS", func(c *js.StreamConfig) { c.MaxAge, c.Discard, c.MaxBytes = time.Hour, js.DiscardOld, 1<<20 })
	update("KV_JOINS", func(c *js.StreamConfig) { c.MaxMsgsPerSubject = 2 })
	consumer, err := client.Consumer(t.Context(), "EVENTS", "dispatch")
	if err != nil {
		t.Fatal(err)
	}
	config := consumer.CachedInfo().Config
	config.AckWait = 5 * time.Second
	if _, err := client.UpdateConsumer(t.Context(), "EVENTS", config); err != nil {
		t.Fatal(err)
	}
	if err := client.DeleteStream(t.Context(), "BUCKETS"); err != nil {
		t.Fatal(err)
	}
}

func TestASurveyWithoutPermissionFailsAtOnce(t *testing.T) {
	t.Parallel()
	urlOf := restrictedBus(t)
	found, err := jetstream.Survey(t.Context(), urlOf("uploader"), jetstream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !errors.Is(found.JetStream, events.ErrRefused) {
		t.Errorf("limits: %v", found.JetStream)
	}
	for _, p := range found.Parts {
		want := events.ErrNotFound // it may request streams, and there are none
		if p.Name[:len("consumer")] == "consumer" {
			want = events.ErrRefused
		}
		if !errors.Is(p.Err, want) {
			t.Errorf("%s: %v, want %v", p.Name, p.Err, want)
		}
	}
	_, err = jetstream.Survey(t.Context(), urlOf("stranger"), jetstream.Options{})
	if !errors.Is(err, events.ErrRefused) {
		t.Errorf("a stranger: %v", err)
	}
}

func TestASurveySaysThatJetStreamIsOff(t *testing.T) {
	t.Parallel()
	url := runServer(t, &server.Options{})
	found, err := jetstream.Survey(t.Context(), url, jetstream.Options{})
	if err != nil || !errors.Is(found.JetStream, jetstream.ErrNoJetStream) || len(found.Parts) > 0 {
		t.Errorf("%+v, %v", found, err)
	}
}
