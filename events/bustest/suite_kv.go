package bustest

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

func kvTests() map[string]func(*testing.T, Bus) {
	return map[string]func(*testing.T, Bus){
		"of many that create a key one wins":                createTogether,
		"of many that update a revision one wins":           updateTogether,
		"no update is lost among many":                      updateAll,
		"keys may be any text":                              anyKey,
		"an older revision of a pipeline can be read":       olderRevision,
		"a key that was deleted is gone":                    deleted,
		"the history of a pipeline has all that it was":     wholeHistory,
		"every KV bucket is there, and by itself":           eachKV,
		"an entry says when the bus wrote it":               entryWritten,
		"a KV bucket that is not there says so":             noKV,
		"who watches sees what is there, then what changes": watchKV,
	}
}

func open(t *testing.T, bus Bus, name string) events.KV {
	t.Helper()
	kv, err := bus.KV(t.Context(), name)
	must(t, err)
	return kv
}

// race calls write from several goroutines and returns how many succeeded; all others must get
// ErrConflict.
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

func createTogether(t *testing.T, bus Bus) {
	joins := open(t, bus, events.KVJoins)
	winners := race(t, func(i int) error {
		_, err := joins.Create(t.Context(), "penguin/run 1", []byte(fmt.Sprint(i)))
		return err
	})
	if winners != 1 {
		t.Errorf("%d created the key, want 1", winners)
	}
}

func updateTogether(t *testing.T, bus Bus) {
	joins := open(t, bus, events.KVJoins)
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

func updateAll(t *testing.T, bus Bus) {
	joins := open(t, bus, events.KVJoins)
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

func anyKey(t *testing.T, bus Bus) {
	joins := open(t, bus, events.KVJoins)
	keys := []string{"penguin/run 1", "a.b.*.>", "ä=/ 日本", ".", "x", strings.Repeat("k", 200)}
	for _, key := range keys {
		_, err := joins.Create(t.Context(), key, []byte(key))
		must(t, err)
	}
	eventually(t, func() string {
		var got []string
		for entry, err := range joins.All(t.Context()) {
			must(t, err)
			if string(entry.Value) != entry.Key || entry.Revision == 0 {
				t.Errorf("entry %+v", entry)
			}
			got = append(got, entry.Key)
		}
		return cmp.Diff(keys, got, cmpopts.SortSlices(strings.Compare))
	})
}

func olderRevision(t *testing.T, bus Bus) {
	pipelines := open(t, bus, events.KVPipelines)
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

func wholeHistory(t *testing.T, bus Bus) {
	pipelines := open(t, bus, events.KVPipelines)
	first, err := pipelines.Create(t.Context(), "penguin", []byte("1"))
	must(t, err)
	_, err = pipelines.Create(t.Context(), "penguin 2", []byte("another"))
	must(t, err)
	second, err := pipelines.Update(t.Context(), "penguin", []byte("2"), first)
	must(t, err)
	must(t, pipelines.Delete(t.Context(), "penguin", second))
	third, err := pipelines.Create(t.Context(), "penguin", []byte("3"))
	must(t, err)
	var got []string
	eventually(t, func() string { // any copy may answer, and lack the newest
		got = nil
		for entry, err := range pipelines.History(t.Context(), "penguin") {
			must(t, err)
			if entry.Key != "penguin" || entry.Written.IsZero() {
				t.Errorf("%+v", entry)
			}
			if got = append(got, string(entry.Value)); entry.Deleted {
				got[len(got)-1] = "deleted"
			}
			if want := map[string]uint64{"1": first, "2": second, "3": third}[string(entry.Value)]; !entry.Deleted && entry.Revision != want {
				t.Errorf("%s is revision %d, want %d", entry.Value, entry.Revision, want)
			}
		}
		return cmp.Diff([]string{"1", "2", "deleted", "3"}, got)
	})
	for entry, err := range pipelines.History(t.Context(), "nobody") {
		t.Errorf("a key that never was has %+v, %v", entry, err)
	}
	older, err := pipelines.Revision(t.Context(), "penguin", first) // which deleting keeps
	must(t, err)
	if string(older.Value) != "1" {
		t.Errorf("revision %d is %s", first, older.Value)
	}
}

func deleted(t *testing.T, bus Bus) {
	joins := open(t, bus, events.KVJoins)
	revision, err := joins.Create(t.Context(), "k", []byte("1"))
	must(t, err)
	wantError(t, joins.Delete(t.Context(), "k", revision+1), events.ErrConflict)
	must(t, joins.Delete(t.Context(), "k", revision))
	_, err = joins.Get(t.Context(), "k")
	wantError(t, err, events.ErrNotFound)
	_, err = joins.Update(t.Context(), "k", []byte("2"), revision)
	wantError(t, err, events.ErrConflict)
	eventually(t, func() (listed string) {
		for entry, err := range joins.All(t.Context()) {
			must(t, err)
			if entry.Key != "k" || string(entry.Value) != "1" || entry.Revision != revision {
				t.Errorf("lists %+v", entry)
			}
			listed = fmt.Sprintf("still lists %+v", entry)
		}
		return listed
	})
	again, err := joins.Create(t.Context(), "k", []byte("3"))
	must(t, err)
	if again <= revision {
		t.Errorf("revision %d after %d: it must not come twice", again, revision)
	}
}

func eachKV(t *testing.T, bus Bus) {
	names := []string{events.KVPipelines, events.KVJoins, events.KVGates, events.KVLeases}
	for _, name := range names {
		_, err := open(t, bus, name).Create(t.Context(), "k", []byte(name))
		must(t, err)
	}
	for _, name := range names {
		entry, err := open(t, bus, name).Get(t.Context(), "k")
		must(t, err)
		wantSame(t, string(entry.Value), name)
	}
}

// entryWritten writes twice, some time apart, and reads in every way.
func entryWritten(t *testing.T, bus Bus) {
	gates := open(t, bus, events.KVGates)
	began := time.Now()
	first, err := gates.Create(t.Context(), "k", []byte("1"))
	must(t, err)
	written := func() time.Time {
		entry, err := gates.Get(t.Context(), "k")
		must(t, err)
		eventually(t, func() string {
			var listed []events.Entry
			for entry, err := range gates.All(t.Context()) {
				must(t, err)
				listed = append(listed, events.Entry(entry))
			}
			return cmp.Diff([]events.Entry{entry}, listed)
		})
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

func noKV(t *testing.T, bus Bus) {
	_, err := bus.KV(t.Context(), "NONSUCH")
	if err == nil || !strings.Contains(err.Error(), "NONSUCH") {
		t.Errorf("got %v, want an error that names the KV bucket", err)
	}
}

// watchKV reads on after each change of its own. A watch may begin with an older state.
func watchKV(t *testing.T, bus Bus) {
	gates := open(t, bus, events.KVGates)
	first, err := gates.Create(t.Context(), "a b", []byte("1"))
	must(t, err)
	gone, err := gates.Create(t.Context(), "gone", []byte("1"))
	must(t, err)
	must(t, gates.Delete(t.Context(), "gone", gone))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	next, end := iter.Pull2(gates.Watch(ctx))
	defer end()
	w := watched{t: t, next: next}
	w.until("a b", first)
	w.wantNewest("1", false)
	for !w.all {
		w.read()
	}
	second, err := gates.Update(t.Context(), "a b", []byte("2"), first)
	must(t, err)
	w.until("a b", second)
	w.wantNewest("2", false)
	if !w.newest["gone"].Deleted && w.newest["gone"].Revision != 0 {
		t.Errorf("the key that is gone is there: %+v", w.newest["gone"])
	}
	must(t, gates.Delete(t.Context(), "a b", second))
	w.until("a b", second+1)
	w.wantNewest("", true)
	third, err := gates.Create(t.Context(), "a b", []byte("3"))
	must(t, err)
	w.until("a b", third)
	w.wantNewest("3", false)
	stop()
	if entry, err, more := next(); more {
		t.Errorf("after its context has ended the watch yields %+v, %v", entry, err)
	}
}

// watched is what a watch of a KV bucket has yielded.
type watched struct {
	t      *testing.T
	next   func() (events.Copy, error, bool)
	last   uint64 // revision
	all    bool   // the watch has marked the end of the first entries
	newest map[string]events.Copy
}

// read reads the next item. Nothing is out of order, and the end of the first entries is marked
// once.
func (w *watched) read() {
	w.t.Helper()
	entry, err, more := w.next()
	must(w.t, err)
	switch {
	case !more:
		w.t.Fatal("the watch has ended")
	case entry.Revision == 0 && w.all:
		w.t.Fatal("the watch says again that this was all")
	case entry.Revision == 0:
		w.all = true
		return
	case entry.Revision <= w.last || entry.Written.IsZero():
		w.t.Fatalf("%+v comes after revision %d", entry, w.last)
	}
	if w.newest == nil {
		w.newest = map[string]events.Copy{}
	}
	w.last, w.newest[entry.Key] = entry.Revision, entry
}

// until reads until it has a revision of a key, or a later one.
func (w *watched) until(key string, revision uint64) {
	w.t.Helper()
	for w.newest[key].Revision < revision {
		w.read()
	}
}

func (w *watched) wantNewest(value string, deleted bool) {
	w.t.Helper()
	if entry := w.newest["a b"]; string(entry.Value) != value || entry.Deleted != deleted {
		w.t.Fatalf("got %+v, want %q, deleted %t", entry, value, deleted)
	}
}
