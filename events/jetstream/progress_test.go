package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
)

func TestAStreamOfProgressThatIsLostIsNamed(t *testing.T) {
	t.Parallel()
	server := startBus(t)
	b := connect(t, server, jetstream.Options{Create: true})
	deleteStream(t, server, "PROGRESS") // as a restart of a single server does
	if _, err := b.LastProgress(t.Context(), "penguin", "monday", "j1"); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("last progress: %v", err)
	}
	for _, err := range b.Logs(t.Context(), "penguin", "monday", false) {
		if !errors.Is(err, events.ErrNotFound) || !strings.Contains(err.Error(), "`stoker streams apply`") {
			t.Errorf("logs: %v", err)
		}
		return
	}
	t.Error("the logs are empty without an error")
}

func TestTheLastProgressIsThereForWhoDidNotWatch(t *testing.T) {
	t.Parallel()
	b := connect(t, startBus(t), jetstream.Options{Create: true})
	if _, err := b.LastProgress(t.Context(), "penguin", "a run", "j1"); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("before any report: %v", err)
	}
	for step := range 3 {
		p := events.Progress{Job: "j1", Pipeline: "penguin", Run: "a run", Phase: "training", Step: step, Steps: 3}
		if err := b.Report(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	var last events.Progress
	for deadline := time.Now().Add(8 * time.Minute); time.Now().Before(deadline) && last.Step < 2; time.Sleep(time.Millisecond) {
		var err error
		if last, err = b.LastProgress(t.Context(), "penguin", "a run", "j1"); err != nil && !errors.Is(err, events.ErrNotFound) {
			t.Fatal(err)
		}
	}
	if last.Step != 2 || last.Phase != "training" {
		t.Errorf("last is %+v", last)
	}
}

func TestTheEndOfARunningJobsLogIsThereForWhoComesLate(t *testing.T) {
	t.Parallel()
	b := connect(t, startBus(t), jetstream.Options{Create: true})
	watching, done := context.WithCancel(t.Context())
	defer done()
	seen := b.Watch(watching, "penguin", "a run")
	const printed = 2*events.LogParts + 3
	report := func(number int) {
		p := events.Progress{Job: "j1", Pipeline: "penguin", Run: "a run", Log: &events.LogPart{Number: number, Text: fmt.Sprint(number)}}
		if err := b.Report(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	for number := range printed {
		report(number)
	}
	next := printed - events.LogParts
	for p, err := range b.Logs(t.Context(), "penguin", "a run", true) {
		if err != nil {
			t.Fatal(err)
		}
		if p.Log.Number < next { // it arrived while the parts were being written
			continue
		}
		if p.Log.Number != next || p.Log.Text != fmt.Sprint(next) {
			t.Fatalf("part %d where %d was to come", p.Log.Number, next)
		}
		if next++; next == printed {
			report(printed) // while somebody follows
		}
		if next == printed+1 {
			break
		}
	}
	kept := 0
	for _, err := range b.Logs(t.Context(), "penguin", "", false) {
		if err != nil {
			t.Fatal(err)
		}
		kept++
	}
	if kept != events.LogParts {
		t.Errorf("%d parts are kept, want %d", kept, events.LogParts)
	}
	if err := b.Report(t.Context(), events.Progress{Job: "j2", Pipeline: "penguin", Run: "a run", Log: &events.LogPart{Text: "a trial"}}); err != nil {
		t.Fatal(err)
	}
	for p, err := range b.JobLog(t.Context(), "penguin", "a run", "j1") {
		if err != nil || p.Job != "j1" {
			t.Errorf("among the log of j1: %+v, %v", p, err)
		}
		kept--
	}
	if kept != 0 {
		t.Errorf("of one job's log %d parts are missing", kept)
	}
	for range b.Logs(t.Context(), "penguin", "another run", false) {
		t.Error("a part of another run's log")
	}
	done()
	for p := range seen {
		t.Errorf("Watch yielded %+v", p)
	}
}
