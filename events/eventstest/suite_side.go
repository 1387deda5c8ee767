package eventstest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/stoker-ml/stoker/events"
)

func registerTests() map[string]func(*testing.T, Box) {
	return map[string]func(*testing.T, Box){
		"of many that create a key one wins":          createTogether,
		"of many that update a revision one wins":     updateTogether,
		"no update is lost among many":                updateAll,
		"keys may be any text":                        anyKey,
		"an older revision of a pipeline can be read": olderRevision,
		"a key that was deleted is gone":              deleted,
		"a register that is not there says so":        noRegister,
	}
}

func sideTests() map[string]func(*testing.T, Box) {
	return map[string]func(*testing.T, Box){
		"progress reaches who watches":          watchProgress,
		"a message is buried once":              buryOnce,
		"watching ends with its context":        watchCancelled,
		"dead letters come oldest first":        deadInOrder,
		"nothing works after its context ended": endedContext,
	}
}

func open(t *testing.T, box Box, name string) events.Register {
	t.Helper()
	register, err := box.Register(t.Context(), name)
	must(t, err)
	return register
}

// race calls write from several goroutines and returns how many won; all others must get ErrConflict.
func race(t *testing.T, write func(i int) error) (winners int) {
	t.Helper()
	const writers = 16
	errs := make([]error, writers)
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() { errs[i] = write(i) })
	}
	group.Wait()
	for _, err := range errs {
		if err == nil {
			winners++
		} else if !errors.Is(err, events.ErrConflict) {
			t.Errorf("a loser got %v, want a conflict", err)
		}
	}
	return winners
}

func createTogether(t *testing.T, box Box) {
	joins := open(t, box, events.RegisterJoins)
	winners := race(t, func(i int) error {
		_, err := joins.Create(t.Context(), "penguin/run 1", []byte(fmt.Sprint(i)))
		return err
	})
	if winners != 1 {
		t.Errorf("%d created the key, want 1", winners)
	}
}

func updateTogether(t *testing.T, box Box) {
	joins := open(t, box, events.RegisterJoins)
	revision, err := joins.Create(t.Context(), "k", []byte("0"))
	must(t, err)
	winners := race(t, func(i int) error {
		_, err := joins.Update(t.Context(), "k", []byte(fmt.Sprint(i)), revision)
		return err
	})
	if winners != 1 {
		t.Errorf("%d updated the revision, want 1", winners)
	}
}

func updateAll(t *testing.T, box Box) {
	joins := open(t, box, events.RegisterJoins)
	_, err := joins.Create(t.Context(), "k", nil)
	must(t, err)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for {
				entry, err := joins.Get(t.Context(), "k")
				if err == nil {
					_, err = joins.Update(t.Context(), "k", append(entry.Value, 'x'), entry.Revision)
				}
				if err == nil {
					return
				}
				if !errors.Is(err, events.ErrConflict) {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	entry, err := joins.Get(t.Context(), "k")
	must(t, err)
	if string(entry.Value) != "xxxxxxxx" {
		t.Errorf("got %q, want eight", entry.Value)
	}
}

func anyKey(t *testing.T, box Box) {
	joins := open(t, box, events.RegisterJoins)
	keys := []string{"penguin/run 1", "a.b.*.>", "ä=/ 日本", ".", "x", strings.Repeat("k", 200)}
	for _, key := range keys {
		_, err := joins.Create(t.Context(), key, []byte(key))
		must(t, err)
	}
	var got []string
	for entry, err := range joins.All(t.Context()) {
		must(t, err)
		if string(entry.Value) != entry.Key || entry.Revision == 0 {
			t.Errorf("entry %+v", entry)
		}
		got = append(got, entry.Key)
	}
	if diff := cmp.Diff(keys, got, cmpopts.SortSlices(strings.Compare)); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

func olderRevision(t *testing.T, box Box) {
	pipelines := open(t, box, events.RegisterPipelines)
	first, err := pipelines.Create(t.Context(), "penguin", []byte("1"))
	must(t, err)
	last := first
	for i := range 100 { // more than the 64 that NATS's own tools would keep
		last, err = pipelines.Update(t.Context(), "penguin", []byte(fmt.Sprint(i+2)), last)
		must(t, err)
	}
	older, err := pipelines.Revision(t.Context(), "penguin", first)
	must(t, err)
	wantSame(t, older, events.Entry{Key: "penguin", Value: []byte("1"), Revision: first, Written: older.Written})
	newer, err := pipelines.Get(t.Context(), "penguin")
	must(t, err)
	wantSame(t, newer, events.Entry{Key: "penguin", Value: []byte("101"), Revision: last, Written: newer.Written})
	if older.Written.IsZero() || newer.Written.Before(older.Written) {
		t.Errorf("written at %s, then at %s", older.Written, newer.Written)
	}
	for _, missing := range []uint64{0, last + 1} {
		_, err = pipelines.Revision(t.Context(), "penguin", missing)
		wantError(t, err, events.ErrNotFound)
	}
	_, err = pipelines.Revision(t.Context(), "taxi", first)
	wantError(t, err, events.ErrNotFound)
}

func deleted(t *testing.T, box Box) {
	joins := open(t, box, events.RegisterJoins)
	revision, err := joins.Create(t.Context(), "k", []byte("1"))
	must(t, err)
	wantError(t, joins.Delete(t.Context(), "k", revision+1), events.ErrConflict)
	must(t, joins.Delete(t.Context(), "k", revision))
	_, err = joins.Get(t.Context(), "k")
	wantError(t, err, events.ErrNotFound)
	_, err = joins.Update(t.Context(), "k", []byte("2"), revision)
	wantError(t, err, events.ErrConflict)
	for entry, err := range joins.All(t.Context()) {
		t.Errorf("still lists %+v, %v", entry, err)
	}
	again, err := joins.Create(t.Context(), "k", []byte("3"))
	must(t, err)
	if again <= revision {
		t.Errorf("revision %d after %d: it must not come twice", again, revision)
	}
}

func noRegister(t *testing.T, box Box) {
	_, err := box.Register(t.Context(), "NONSUCH")
	if err == nil || !strings.Contains(err.Error(), "NONSUCH") {
		t.Errorf("got %v, want an error that names the register", err)
	}
}

func watchProgress(t *testing.T, box Box) {
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	all, one := box.Watch(ctx, "", ""), box.Watch(ctx, "penguin", "run 1")
	report := func(pipeline, run, job string) events.Progress {
		p := events.Progress{Job: job, Pipeline: pipeline, Run: run, Phase: "training", Step: 3, Steps: 9, Metrics: map[string]float64{"loss": 0.5}}
		must(t, box.Report(ctx, p))
		return p
	}
	wanted := report("penguin", "run 1", "job-1")
	report("penguin", "run.2", "job-2")
	report("taxi", "run 1", "job-3")
	last := report("penguin", "run 1", "job-4")
	var seen []string
	for p, err := range all {
		must(t, err)
		if seen = append(seen, p.Job); len(seen) == 4 {
			break
		}
	}
	wantSame(t, seen, []string{"job-1", "job-2", "job-3", "job-4"})
	var selected []events.Progress
	for p, err := range one {
		must(t, err)
		if selected = append(selected, p); p.Job == last.Job {
			break
		}
	}
	wantSame(t, selected, []events.Progress{wanted, last})
}

func watchCancelled(t *testing.T, box Box) {
	ctx, cancel := context.WithCancel(t.Context())
	watch := box.Watch(ctx, "", "")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for p, err := range watch {
			t.Errorf("got %+v, %v", p, err)
		}
	}()
	cancel()
	<-ended
}

func buryOnce(t *testing.T, box Box) {
	letter := events.DeadLetter{
		Message: events.Message{Stream: "FACTS", Sequence: 7, Subject: "facts.x", Header: map[string][]string{"A": {"b"}}, Body: []byte("\x00\xff")},
		Reason:  events.DeadReason{Kind: events.FailureInput, Message: "bad", Field: "run"},
	}
	must(t, box.Bury(t.Context(), letter))
	other := letter
	other.Reason.Message = "second"
	must(t, box.Bury(t.Context(), other))
	wantDead(t, box, letter)
}

func deadInOrder(t *testing.T, box Box) {
	for i := range 5 {
		letter := events.DeadLetter{Message: events.Message{Stream: "JOBS", Sequence: uint64(9 - i)}, Reason: events.DeadReason{Message: fmt.Sprint(i)}}
		must(t, box.Bury(t.Context(), letter))
	}
	i := 0
	for letter, err := range box.Dead(t.Context()) {
		must(t, err)
		if letter.Reason.Message != fmt.Sprint(i) || letter.Sequence != uint64(i+1) || letter.Buried.IsZero() {
			t.Errorf("letter %d: %+v", i, letter)
		}
		i++
	}
	if i != 5 {
		t.Errorf("read %d letters, want 5", i)
	}
}

func endedContext(t *testing.T, box Box) {
	joins := open(t, box, events.RegisterJoins)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, publish := box.Publish(ctx, exampleFact("run 1", "1"))
	_, get := joins.Get(ctx, "k")
	_, create := joins.Create(ctx, "k", nil)
	offer := box.Offer(ctx, exampleJob("job-1", "cpu"))
	for _, err := range []error{publish, get, create, offer} {
		wantError(t, err, context.Canceled)
	}
}
