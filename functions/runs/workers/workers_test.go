package workers_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/runs/workers"
)

func example(id string, beat uint64, classes ...string) events.WorkerStatus {
	return events.WorkerStatus{ID: id, Host: "host-" + id, Functions: []events.Function{events.FunctionTrain}, Classes: classes, Slots: 4, Version: "v1", Started: time.Unix(1, 0), Beat: beat}
}

func report(t *testing.T, bus *bustest.Memory, all ...events.WorkerStatus) {
	t.Helper()
	for _, w := range all {
		if err := bus.ReportWorker(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
}

func ids(all []workers.Worker) (list []string) {
	for _, w := range all {
		list = append(list, w.ID)
	}
	return list
}

func TestKnownListsThoseThatAreNotGone(t *testing.T) {
	t.Parallel()
	bus := bustest.NewMemory(0)
	ended := example("c", 1, "cpu")
	ended.Ended = true
	report(t, bus, example("b", 1, "cpu"), example("a", 1, "cpu"), ended)
	list, err := workers.Known(t.Context(), bus, time.Now())
	if got := ids(list); err != nil || !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%v, %v", got, err)
	}
	list, err = workers.Known(t.Context(), bus, time.Now().Add(time.Minute))
	if err != nil || len(list) != 2 || list[0].Presence != events.WorkerIsLate || list[0].IsAlive() {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestQueuesAreServedByWorkersThatClaim(t *testing.T) {
	t.Parallel()
	both, drains, full := example("a", 1, "cpu", "gpu", "cpu"), example("b", 1, "cpu"), example("c", 1, "cpu")
	full.Busy = 4
	all := []workers.Worker{
		{WorkerHeartbeat: events.WorkerHeartbeat{WorkerStatus: both}, Presence: events.WorkerAlive},
		{WorkerHeartbeat: events.WorkerHeartbeat{WorkerStatus: drains}, Presence: events.WorkerDraining},
		{WorkerHeartbeat: events.WorkerHeartbeat{WorkerStatus: full}, Presence: events.WorkerAlive},
	}
	got := workers.ByQueue(all)
	want := map[workers.Queue]workers.Serving{{Function: events.FunctionTrain, Class: "cpu"}: {Workers: 2, Free: 4}, {Function: events.FunctionTrain, Class: "gpu"}: {Workers: 1, Free: 4}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// feed yields heartbeats that a test sends.
type feed struct{ sent chan events.WorkerHeartbeat }

func (f feed) Workers(context.Context, bool) iter.Seq2[events.WorkerHeartbeat, error] {
	return func(yield func(events.WorkerHeartbeat, error) bool) {
		for h := range f.sent {
			if !yield(h, nil) {
				return
			}
		}
		yield(events.WorkerHeartbeat{}, errors.New("the bus is away"))
	}
}

// followed sends heartbeats to a Watch, and returns how often it reported a change.
func followed(t *testing.T, w *workers.Watch, all ...events.WorkerHeartbeat) (changes int) {
	t.Helper()
	f := feed{make(chan events.WorkerHeartbeat, len(all))}
	for _, h := range all {
		f.sent <- h
	}
	close(f.sent)
	if err := w.Follow(t.Context(), f, func() { changes++ }); err == nil {
		t.Error("the end of the feed is not reported")
	}
	return changes
}

func TestAWatchReportsNewsAlone(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	now := time.Unix(1_000_000, 0)
	w := workers.NewWatch(func() time.Time { mu.Lock(); defer mu.Unlock(); return now })
	busy := example("a", 3, "cpu")
	busy.Busy = 1
	beat := func(s events.WorkerStatus, after time.Duration) events.WorkerHeartbeat {
		return events.WorkerHeartbeat{WorkerStatus: s, Heard: now.Add(after)}
	}
	if n := followed(t, w, beat(example("a", 1, "cpu"), 0), beat(example("a", 2, "cpu"), time.Second), beat(busy, 2*time.Second), beat(example("a", 1, "cpu"), 3*time.Second)); n != 2 {
		t.Errorf("%d changes of a worker that was new, then busy", n)
	}
	if read, fault := w.Status(); read || fault != "the bus is away" {
		t.Errorf("%t, %q", read, fault)
	}
	if n := followed(t, w, events.WorkerHeartbeat{}); n != 1 {
		t.Errorf("%d changes when the kept heartbeats were read", n)
	}
	if read, _ := w.Status(); !read {
		t.Error("the kept heartbeats count as unread")
	}
	if one, known := w.Worker("a"); !known || one.Busy != 1 || one.Presence != events.WorkerAlive {
		t.Errorf("%+v, %t", one, known)
	}
	mu.Lock()
	now = now.Add(events.WorkerKept + 3*time.Second)
	mu.Unlock()
	if here, gone := w.All(); len(here) != 0 || len(gone) != 1 || gone[0].Presence != events.WorkerGone {
		t.Errorf("after a while: %+v, %+v", here, gone)
	}
	mu.Lock()
	now = now.Add(workers.Remembered)
	mu.Unlock()
	if _, known := w.Worker("a"); known {
		t.Error("it is never forgotten")
	}
}

func TestTheNumberOfWorkersIsBounded(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	w := workers.NewWatch(func() time.Time { return now })
	var all []events.WorkerHeartbeat
	for i := range 2500 {
		s := example(fmt.Sprintf("w-%04d", i), 1, "cpu")
		s.Ended = i < 300
		all = append(all, events.WorkerHeartbeat{WorkerStatus: s, Heard: now.Add(time.Duration(i-2500) * time.Millisecond)})
	}
	followed(t, w, all...)
	here, gone := w.All()
	if len(here) != 2000 || len(gone) != 0 {
		t.Errorf("%d workers, and %d that are gone", len(here), len(gone))
	}
	if _, known := w.Worker("w-2499"); !known {
		t.Error("the newest is dropped")
	}
}

func TestHoldersAreFoundByAttempt(t *testing.T) {
	t.Parallel()
	holds := example("a", 1, "cpu")
	holds.Jobs = []events.WorkerJob{{Attempt: "x"}}
	alive := workers.Worker{WorkerHeartbeat: events.WorkerHeartbeat{WorkerStatus: holds}, Presence: events.WorkerAlive}
	gone := alive
	gone.Presence = events.WorkerGone
	if got := workers.Holders([]workers.Worker{alive}); got["x"].ID != "a" {
		t.Errorf("%+v", got)
	}
	if got := workers.Holders([]workers.Worker{gone}); len(got) != 0 {
		t.Errorf("a worker that is gone holds %+v", got)
	}
}
