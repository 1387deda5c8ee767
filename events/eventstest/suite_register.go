package eventstest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/stoker-ml/stoker/events"
)

func registerTests() map[string]func(*testing.T, Box) {
	return map[string]func(*testing.T, Box){
		"of many that create a key one wins":                createTogether,
		"of many that update a revision one wins":           updateTogether,
		"no update is lost among many":                      updateAll,
		"keys may be any text":                              anyKey,
		"an older revision of a pipeline can be read":       olderRevision,
		"a key that was deleted is gone":                    deleted,
		"every register is there, and by itself":            eachRegister,
		"an entry says when the bus wrote it":               entryWritten,
		"a register that is not there says so":              noRegister,
		"who watches sees what is there, then what changes": watchRegister,
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

func eachRegister(t *testing.T, box Box) {
	names := []string{events.RegisterPipelines, events.RegisterJoins, events.RegisterGates, events.RegisterLeases}
	for _, name := range names {
		_, err := open(t, box, name).Create(t.Context(), "k", []byte(name))
		must(t, err)
	}
	for _, name := range names {
		entry, err := open(t, box, name).Get(t.Context(), "k")
		must(t, err)
		wantSame(t, string(entry.Value), name)
	}
}

// entryWritten writes twice, a while apart, and reads in every way.
func entryWritten(t *testing.T, box Box) {
	gates := open(t, box, events.RegisterGates)
	began := time.Now()
	first, err := gates.Create(t.Context(), "k", []byte("1"))
	must(t, err)
	written := func() time.Time {
		entry, err := gates.Get(t.Context(), "k")
		must(t, err)
		for listed, err := range gates.All(t.Context()) {
			must(t, err)
			wantSame(t, events.Entry(listed), entry)
		}
		return entry.Written
	}
	created := written()
	time.Sleep(now)
	_, err = gates.Update(t.Context(), "k", []byte("2"), first)
	must(t, err)
	updated := written()
	if created.Before(began) || updated.Sub(created) < now || updated.After(time.Now()) {
		t.Errorf("written at %s, then at %s: want two times %s apart after %s", created, updated, now, began)
	}
}

func noRegister(t *testing.T, box Box) {
	_, err := box.Register(t.Context(), "NONSUCH")
	if err == nil || !strings.Contains(err.Error(), "NONSUCH") {
		t.Errorf("got %v, want an error that names the register", err)
	}
}

// watchRegister reads on after each change of its own.
func watchRegister(t *testing.T, box Box) {
	gates := open(t, box, events.RegisterGates)
	first, err := gates.Create(t.Context(), "a b", []byte("1"))
	must(t, err)
	gone, err := gates.Create(t.Context(), "gone", []byte("1"))
	must(t, err)
	must(t, gates.Delete(t.Context(), "gone", gone))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	next, end := iter.Pull2(gates.Watch(ctx))
	defer end()
	// want skips the marks of deletions that were there before: a bus may keep them.
	want := func(value string, deleted bool) events.Copy {
		t.Helper()
		for {
			entry, err, _ := next()
			must(t, err)
			if entry.Key == "gone" && entry.Deleted {
				continue
			}
			if entry.Key != "a b" || string(entry.Value) != value || entry.Deleted != deleted || entry.Revision < first || entry.Written.IsZero() {
				t.Fatalf("got %+v, want %q, deleted %t", entry, value, deleted)
			}
			return entry
		}
	}
	want("1", false)
	for {
		entry, err, _ := next()
		must(t, err)
		if entry.Revision == 0 {
			break
		}
		if !entry.Deleted {
			t.Fatalf("got %+v before the word that this was all", entry)
		}
	}
	second, err := gates.Update(t.Context(), "a b", []byte("2"), first)
	must(t, err)
	if entry := want("2", false); entry.Revision != second {
		t.Errorf("watched revision %d, want %d", entry.Revision, second)
	}
	must(t, gates.Delete(t.Context(), "a b", second))
	want("", true)
	_, err = gates.Create(t.Context(), "a b", []byte("3"))
	must(t, err)
	want("3", false)
	stop()
	if entry, err, more := next(); more {
		t.Errorf("after its context has ended the watch yields %+v, %v", entry, err)
	}
}
