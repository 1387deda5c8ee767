package jetstream_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/events/jetstream"
)

func TestStreamsCanBeMadeByManyAtOnceAndAgain(t *testing.T) {
	t.Parallel()
	server := startBus(t)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			bus, err := jetstream.Connect(t.Context(), server.URL(), jetstream.Options{Create: true})
			if err != nil {
				t.Error(err)
				return
			}
			if err := bus.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	connect(t, server, jetstream.Options{Create: true})
}

func TestABusThatIsNotSetUpSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	_, err := jetstream.Connect(t.Context(), startBus(t).URL(), jetstream.Options{})
	if err == nil || !strings.Contains(err.Error(), "LEASES") {
		t.Errorf("got %v, want an error that names the KV bucket", err)
	}
}

func TestTheBusIsAsTheDefinitionsSay(t *testing.T) {
	t.Parallel()
	server := startBus(t)
	connect(t, server, jetstream.Options{Create: true})
	client, err := js.New(dial(t, server))
	if err != nil {
		t.Fatal(err)
	}
	defined, err := jetstream.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range defined.Consumers {
		consumer, err := client.Consumer(t.Context(), want.Stream, want.Name)
		if err != nil {
			t.Fatalf("%s: %v", want.Name, err)
		}
		got := consumer.CachedInfo().Config
		if got.AckWait != bustest.Lease || got.MaxDeliver != -1 || got.AckPolicy != js.AckExplicitPolicy || got.FilterSubject != want.Filter {
			t.Errorf("%s: %+v", want.Name, got)
		}
	}
	for _, want := range defined.Streams {
		stream, err := client.Stream(t.Context(), want.Name)
		if err != nil {
			t.Fatalf("%s: %v", want.Name, err)
		}
		got := stream.CachedInfo().Config
		if want.Discard == "new" && (got.Discard != js.DiscardNew || got.MaxAge != 0) {
			t.Errorf("%s drops old messages: %+v", want.Name, got)
		}
		if got.Storage == js.MemoryStorage && got.MaxBytes <= 0 {
			t.Errorf("%s may take all memory: %+v", want.Name, got)
		}
		if (got.Retention == js.WorkQueuePolicy) != (want.Name == "JOBS") {
			t.Errorf("%s: retention %s", want.Name, got.Retention)
		}
	}
}

// JetStream drops a message whose Nats-Msg-Id was used within the window by any publisher of the
// stream. Streams of earlier versions have the server's default of two minutes.
func TestStreamsRememberMessageIDsAsShortAsTheServerAllows(t *testing.T) {
	t.Parallel()
	server := startBus(t)
	client, err := js.New(dial(t, server))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CreateStream(t.Context(), js.StreamConfig{Name: "EVENTS", Subjects: []string{"events.>"}}); err != nil {
		t.Fatal(err)
	}
	connect(t, server, jetstream.Options{Create: true})
	streams := client.ListStreams(t.Context())
	count := 0
	for info := range streams.Info() {
		if count++; info.Config.Duplicates != 100*time.Millisecond {
			t.Errorf("%s: %s", info.Config.Name, info.Config.Duplicates)
		}
	}
	if err := streams.Err(); err != nil || count < 10 {
		t.Errorf("%d streams, %v", count, err)
	}
}

// Deployments scale workers by the lag of these consumers, so each function has one for each
// default class.
func TestEveryFunctionHasAConsumerForEachUsualClass(t *testing.T) {
	t.Parallel()
	defined, err := jetstream.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	filters := map[string]bool{}
	for _, consumer := range defined.Consumers {
		filters[consumer.Stream+" "+consumer.Filter] = true
	}
	for _, function := range events.Functions() {
		for _, class := range []string{"cpu", "gpu"} {
			if filter := "JOBS " + events.JobFilter(function, class); !filters[filter] {
				t.Errorf("no consumer for %s", filter)
			}
		}
	}
}

func TestSetupMakesABusForTheGivenClasses(t *testing.T) {
	t.Parallel()
	server := startBus(t)
	made, err := jetstream.Setup(t.Context(), server.URL(), jetstream.Options{Classes: []string{"cpu", "a100"}})
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]int{}
	for _, m := range made {
		times[m.Kind+" "+m.Name]++
		if m.Kind != "consumer" && m.Replicas != 1 {
			t.Errorf("%+v: want one replica, where nobody asks for more", m)
		}
	}
	for _, want := range []string{"stream EVENTS", "KV bucket LEASES", "consumer train-cpu", "consumer train-a100", "consumer trial-a100"} {
		if times[want] != 1 {
			t.Errorf("%s is there %d times, want 1", want, times[want])
		}
	}
	if _, err := jetstream.Setup(t.Context(), server.URL(), jetstream.Options{Classes: []string{"a b"}}); err == nil {
		t.Error("a class that no subject can hold is taken")
	}
	connect(t, server, jetstream.Options{}) // a bus that is set up
}
