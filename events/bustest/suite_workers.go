package bustest

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
)

func workerTests() map[string]func(*testing.T, Bus) {
	return map[string]func(*testing.T, Bus){
		"the last heartbeat of each worker is kept":          lastHeartbeats,
		"who follows workers hears each change":              followWorkers,
		"following workers ends with its context":            followWorkersCancelled,
		"a heartbeat that readers would skip is not sent":    reportInvalidWorker,
		"hostile heartbeats are skipped":                     hostileHeartbeats,
		"the queues of functions and classes have a length":  queueLengths,
		"a queue whose jobs are done is empty, or not there": queueEmpties,
	}
}

// exampleWorker returns a valid status of a worker of class cpu.
func exampleWorker(id string, beat uint64) events.WorkerStatus {
	return events.WorkerStatus{
		ID: id, Host: "host.example", Functions: events.Functions(), Classes: []string{"cpu", "gpu"}, Slots: 2, Busy: 1, Version: "v1.2.3", Beat: beat,
		Started: time.Unix(1_700_000_000, 0).UTC(), GPUs: []string{"0"},
		Jobs: []events.WorkerJob{{
			Job: "job-1", Function: events.FunctionTrain, Pipeline: "penguin", Run: "run 1", Attempt: "attempt-1", Number: 1, Phase: "training",
			Since: time.Unix(1_700_000_100, 0).UTC(),
		}},
	}
}

// heard returns the last heartbeats by worker.
func heard(t *testing.T, list iter.Seq2[events.WorkerHeartbeat, error]) map[string]events.WorkerHeartbeat {
	t.Helper()
	found := map[string]events.WorkerHeartbeat{}
	for h, err := range list {
		must(t, err)
		if h.Beat >= found[h.ID].Beat {
			found[h.ID] = h
		}
	}
	return found
}

// keepWorkers reports heartbeats, again if they are lost, until exactly these are kept.
func keepWorkers(t *testing.T, bus Bus, want ...events.WorkerStatus) {
	t.Helper()
	for _, w := range want {
		eventually(t, func() string {
			must(t, bus.ReportWorker(t.Context(), w))
			if got := heard(t, bus.Workers(t.Context(), false))[w.ID]; got.Beat != w.Beat {
				return fmt.Sprintf("worker %s: got %+v, want beat %d", w.ID, got, w.Beat)
			}
			return ""
		})
	}
	wantWorkers(t, bus, want...)
}

// wantWorkers waits until exactly these heartbeats are kept.
func wantWorkers(t *testing.T, bus Bus, want ...events.WorkerStatus) {
	t.Helper()
	eventually(t, func() string {
		found := heard(t, bus.Workers(t.Context(), false))
		for _, w := range want {
			if got := found[w.ID]; got.Beat != w.Beat || got.Ended != w.Ended {
				return fmt.Sprintf("worker %s: got %+v, want beat %d", w.ID, got, w.Beat)
			}
		}
		if len(found) != len(want) {
			return fmt.Sprintf("got %d workers, want %d", len(found), len(want))
		}
		return ""
	})
}

func lastHeartbeats(t *testing.T, bus Bus) {
	began := time.Now()
	for h, err := range bus.Workers(t.Context(), false) {
		t.Errorf("a bus without workers has %+v, %v", h, err)
	}
	first, second := exampleWorker("a-1", 3), exampleWorker("b-2", 1)
	second.Ended, second.Draining = true, true
	for beat := range first.Beat {
		must(t, bus.ReportWorker(t.Context(), exampleWorker("a-1", beat+1)))
	}
	keepWorkers(t, bus, first, second)
	for id, h := range heard(t, bus.Workers(t.Context(), false)) {
		if wide := time.Minute; h.Heard.Before(began.Add(-wide)) || h.Heard.After(time.Now().Add(wide)) {
			t.Errorf("%s was heard of at %s, and now is %s", id, h.Heard, time.Now())
		}
		want := map[string]events.WorkerStatus{"a-1": first, "b-2": second}[id]
		wantSame(t, h.WorkerStatus, want)
	}
}

func followWorkers(t *testing.T, bus Bus) {
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	keepWorkers(t, bus, exampleWorker("a-1", 1))
	marked, seen := false, map[string]uint64{}
	for h, err := range bus.Workers(ctx, true) {
		must(t, err)
		if h.ID == "" {
			marked = true
			for beat := range uint64(20) { // some of them may be lost
				must(t, bus.ReportWorker(ctx, exampleWorker("a-1", beat+2)))
				must(t, bus.ReportWorker(ctx, exampleWorker("b-2", beat+1)))
			}
			continue
		}
		if h.ID != "a-1" && !marked {
			t.Fatalf("%+v is there before anybody reported it", h)
		}
		if seen[h.ID] = max(seen[h.ID], h.Beat); seen["a-1"] > 1 && seen["b-2"] > 0 {
			return
		}
	}
	t.Errorf("heard %v, the mark %t", seen, marked)
}

func followWorkersCancelled(t *testing.T, bus Bus) {
	ctx, cancel := context.WithCancel(t.Context())
	for h, err := range bus.Workers(ctx, true) {
		if h.ID != "" || err != nil {
			t.Errorf("got %+v, %v", h, err)
		}
		cancel()
	}
	cancel()
}

func reportInvalidWorker(t *testing.T, bus Bus) {
	for field, change := range map[string]func(*events.WorkerStatus){
		"id":           func(w *events.WorkerStatus) { w.ID = "a.>" },
		"host":         func(w *events.WorkerStatus) { w.Host = "a\x1b[31mb" },
		"version":      func(w *events.WorkerStatus) { w.Version = strings.Repeat("v", 129) },
		"functions":    func(w *events.WorkerStatus) { w.Functions = nil },
		"classes[1]":   func(w *events.WorkerStatus) { w.Classes[1] = "*" },
		"slots":        func(w *events.WorkerStatus) { w.Slots = -1 },
		"jobs":         func(w *events.WorkerStatus) { w.Jobs = make([]events.WorkerJob, events.MaxWorkerJobs+1) },
		"jobs[0].run":  func(w *events.WorkerStatus) { w.Jobs[0].Run = "" },
		"gpus[0]":      func(w *events.WorkerStatus) { w.GPUs[0] = "\n" },
		"jobs[0].job":  func(w *events.WorkerStatus) { w.Jobs[0].Job = "a b" },
		"functions[0]": func(w *events.WorkerStatus) { w.Functions[0] = "<b>" },
	} {
		w := exampleWorker("a-1", 1)
		change(&w)
		wantInvalid(t, bus.ReportWorker(t.Context(), w), field)
	}
	wantWorkers(t, bus)
}

// hostileHeartbeats has heartbeats that no worker of ours sends.
func hostileHeartbeats(t *testing.T, bus Bus) {
	encoded := func(change func(*events.WorkerStatus)) []byte {
		w := exampleWorker("a-1", 1)
		change(&w)
		body, err := json.Marshal(w)
		must(t, err)
		return body
	}
	for subject, body := range map[string][]byte{
		"workers.cpu.other": encoded(func(*events.WorkerStatus) {}),
		"workers.gpu.a-1":   encoded(func(*events.WorkerStatus) {}),
		"workers.cpu.huge":  encoded(func(w *events.WorkerStatus) { w.ID, w.Host = "huge", strings.Repeat("x", 64<<10) }),
		"workers.cpu.many": encoded(func(w *events.WorkerStatus) {
			w.ID, w.Jobs = "many", make([]events.WorkerJob, 100)
		}),
		"workers.cpu.bad":     encoded(func(w *events.WorkerStatus) { w.ID, w.Version = "bad", "\x1b]0;owned\x07" }),
		"workers.cpu.nothing": nil,
		"workers.cpu.text":    []byte(`"hello"`),
		"workers.cpu.deep":    []byte(strings.Repeat("[", 10_000)),
		"workers.cpu.a.b":     encoded(func(*events.WorkerStatus) {}),
	} {
		must(t, bus.Inject(t.Context(), subject, nil, body))
	}
	keepWorkers(t, bus, exampleWorker("good", 1))
}

// wantQueues waits until the queues that are not empty have these lengths.
func wantQueues(t *testing.T, bus Bus, want map[string][2]uint64) {
	t.Helper()
	eventually(t, func() string {
		states, err := bus.Queues(t.Context())
		must(t, err)
		found := map[string][2]uint64{}
		for _, s := range states {
			if s.Waiting+s.Running > 0 {
				found[string(s.Function)+" "+s.Class] = [2]uint64{s.Waiting, s.Running}
			}
			if (s.Waiting > 0) == s.Oldest.IsZero() {
				return fmt.Sprintf("the oldest job of %+v", s)
			}
		}
		if fmt.Sprint(found) != fmt.Sprint(want) {
			return fmt.Sprintf("waiting and running: got %v, want %v", found, want)
		}
		return ""
	})
}

func queueLengths(t *testing.T, bus Bus) {
	wantQueues(t, bus, map[string][2]uint64{})
	for i, class := range []string{"cpu", "cpu", "cpu", "gpu"} {
		must(t, bus.Enqueue(t.Context(), exampleJob(fmt.Sprintf("job-%d", i), class)))
	}
	tune := exampleJob("job-tune", "cpu")
	tune.Function = events.FunctionTune
	must(t, bus.Enqueue(t.Context(), tune))
	wantQueues(t, bus, map[string][2]uint64{"train cpu": {3, 0}, "train gpu": {1, 0}, "tune cpu": {1, 0}})
	claim := take(t, bus, "cpu")
	must(t, claim.KeepAlive(t.Context(), func(context.Context) error {
		wantQueues(t, bus, map[string][2]uint64{"train cpu": {2, 1}, "train gpu": {1, 0}, "tune cpu": {1, 0}})
		return nil
	}))
}

func queueEmpties(t *testing.T, bus Bus) {
	must(t, bus.Enqueue(t.Context(), exampleJob("job-1", "cpu")))
	must(t, take(t, bus, "cpu").Ack(t.Context()))
	wantQueues(t, bus, map[string][2]uint64{})
}
