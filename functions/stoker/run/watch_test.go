package run

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/runs/watch"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
	"github.com/stoker-ml/stoker/local/natsserver"
)

// A watch that lost the bus waits for it, and continues after the last event that it has shown: it
// shows none twice, and includes those that arrived before the bus returned.
func TestAWatchGoesOnWhereItWasWhenTheBusIsBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server, err := natsserver.Start(t.Context(), natsserver.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	at, err := url.Parse(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(at.Port())
	if err != nil {
		t.Fatal(err)
	}
	bus := connected(t, server.URL())
	publishEvents(t, bus, 1, 2)
	lines, stop := watchedBy(t, bus)
	wantSequences(t, lines, 1, 2)

	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	server, err = natsserver.Start(t.Context(), natsserver.Options{Dir: dir, Port: port})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	publishEvents(t, connected(t, server.URL()), 3, 4)
	wantSequences(t, lines, 3, 4)
	stop()
}

func connected(t *testing.T, url string) events.Bus {
	t.Helper()
	bus, err := jetstream.Connect(t.Context(), url, jetstream.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bus.Close() })
	return bus
}

func publishEvents(t *testing.T, bus events.Bus, runs ...int) {
	t.Helper()
	for _, run := range runs {
		event := events.Event{
			ID: fmt.Sprint(run), Source: "/gen", Pipeline: "penguin", Run: fmt.Sprint(run), Time: time.Now(),
			Data: &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://tfx/penguin/1"}}},
		}
		if _, err := bus.Publish(t.Context(), event); err != nil {
			t.Fatal(err)
		}
	}
}

// watchedBy runs `stoker watch --all -o json` on a bus until it is stopped, which is no error.
func watchedBy(t *testing.T, bus events.Bus) (lines *json.Decoder, stop func()) {
	t.Helper()
	read, write := io.Pipe()
	t.Cleanup(func() { _ = read.Close() })
	a := &app.App{Stdout: terminal.NewStream(write), Stderr: terminal.NewStream(t.Output()), Output: terminal.JSON}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		err := watchRuns(ctx, a, bus, watchFlags{watch.Options{All: true}})
		_ = write.CloseWithError(io.ErrUnexpectedEOF) // the reader gets the error
		ended <- err
	}()
	return json.NewDecoder(read), func() {
		t.Helper()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the watch ended with %v", err)
		}
	}
}

func wantSequences(t *testing.T, lines *json.Decoder, want ...uint64) {
	t.Helper()
	for _, sequence := range want {
		var line watch.Line
		if err := lines.Decode(&line); err != nil {
			t.Fatal(err)
		}
		if line.Sequence != sequence || line.Kind != string(events.KindExamplesReady) || line.Run != fmt.Sprint(sequence) {
			t.Fatalf("shown is %+v, want event %d", line, sequence)
		}
	}
}
