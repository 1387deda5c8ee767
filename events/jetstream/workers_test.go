package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
)

func workerStatus(id string, beat uint64) events.WorkerStatus {
	return events.WorkerStatus{
		ID: id, Host: "h", Functions: []events.Function{events.FunctionTrain}, Classes: []string{"cpu"}, Slots: 1, Version: "v1", Started: time.Unix(1, 0), Beat: beat,
	}
}

// known returns the last heartbeat of each worker that a bus knows.
func known(t *testing.T, bus *jetstream.Bus) map[string]events.WorkerHeartbeat {
	t.Helper()
	found := map[string]events.WorkerHeartbeat{}
	for h, err := range bus.Workers(t.Context(), false) {
		if err != nil {
			t.Fatal(err)
		}
		found[h.ID] = h
	}
	return found
}

// soonKnows waits until a bus knows so many workers.
func soonKnows(t *testing.T, bus *jetstream.Bus, n int) map[string]events.WorkerHeartbeat {
	t.Helper()
	for deadline := time.Now().Add(8 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		found := known(t, bus)
		if len(found) == n {
			return found
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d workers are known, want %d", len(found), n)
		}
	}
}

func TestHeartbeatsAreKeptAsLongAsWorkersCountAsKnown(t *testing.T) {
	t.Parallel()
	defined, err := jetstream.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	for _, stream := range defined.Streams {
		if stream.Name != events.StreamWorkers {
			continue
		}
		if stream.MaxAge != events.WorkerKept || stream.Storage != "memory" || stream.MaxMessagesPerSubject != 1 || stream.MaxBytes < 1000*events.MaxWorkerBytes {
			t.Errorf("%+v", stream)
		}
		return
	}
	t.Error("there is no such stream")
}

// The server forgets a worker that no longer reports itself.
func TestAWorkerThatDiedExpires(t *testing.T) {
	t.Parallel()
	server := startBus(t)
	bus := connect(t, server, jetstream.Options{Create: true})
	client, err := js.New(dial(t, server))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := client.Stream(t.Context(), events.StreamWorkers)
	if err != nil {
		t.Fatal(err)
	}
	config := stream.CachedInfo().Config
	config.MaxAge = 3 * time.Second // instead of minutes
	if _, err := client.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	if err := bus.ReportWorker(t.Context(), workerStatus("dead", 1)); err != nil {
		t.Fatal(err)
	}
	soonKnows(t, bus, 1)
	soonKnows(t, bus, 0)
}

// A reader whose clock is wrong sees how old a heartbeat is all the same.
func TestHeartbeatsAreDatedByTheReadersClock(t *testing.T) {
	t.Parallel()
	server := startBus(t)
	bus := connect(t, server, jetstream.Options{Create: true})
	if err := bus.ReportWorker(t.Context(), workerStatus("w", 1)); err != nil {
		t.Fatal(err)
	}
	soonKnows(t, bus, 1)
	const wrong = -3 * time.Hour
	now := func() time.Time { return time.Now().Add(wrong) }
	reader := connect(t, server, jetstream.Options{Now: now})
	if age := now().Sub(known(t, reader)["w"].Heard); age < -time.Minute || age > 10*time.Minute {
		t.Errorf("by a clock that is %s off, it is %s old", wrong, age)
	}
}

// The stream is in memory: a single server that restarts loses it. Workers go on, and who follows
// them still hears them.
func TestWorkersAreHeardWithoutTheirStream(t *testing.T) {
	t.Parallel()
	server := startBus(t)
	bus := connect(t, server, jetstream.Options{Create: true})
	deleteStream(t, server, events.StreamWorkers)
	if err := bus.ReportWorker(t.Context(), workerStatus("w", 1)); err != nil {
		t.Fatal(err)
	}
	for _, err := range bus.Workers(t.Context(), false) {
		if !errors.Is(err, events.ErrNotFound) || !strings.Contains(err.Error(), "`stoker streams apply`") {
			t.Errorf("without the stream: %v", err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	for h, err := range bus.Workers(ctx, true) {
		if err != nil {
			t.Fatal(err)
		}
		if h.ID == "w" && h.Beat == 2 {
			return
		}
		if err := bus.ReportWorker(ctx, workerStatus("w", 2)); err != nil {
			t.Fatal(err)
		}
	}
	t.Error("it is not heard")
}

// A thousand workers are listed whole, each once.
func TestAThousandWorkersAreListed(t *testing.T) {
	t.Parallel()
	bus := connect(t, startBus(t), jetstream.Options{Create: true})
	const workers = 1000
	for beat := range uint64(2) {
		for i := range workers {
			w := workerStatus(fmt.Sprintf("w-%d", i), beat+1)
			for j := range events.MaxWorkerJobs {
				w.Jobs = append(w.Jobs, events.WorkerJob{
					Job: fmt.Sprintf("job-%d-%d", i, j), Function: events.FunctionTrain, Pipeline: "penguin", Run: fmt.Sprintf("run-%d", j), Attempt: "a", Number: 1,
				})
			}
			if err := bus.ReportWorker(t.Context(), w); err != nil {
				t.Fatal(err)
			}
		}
	}
	for id, h := range soonKnows(t, bus, workers) {
		if len(h.Jobs) != events.MaxWorkerJobs {
			t.Errorf("%s: %+v", id, h)
		}
	}
}
