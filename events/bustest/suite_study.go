package bustest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/events"
)

func studyTests() map[string]func(*testing.T, Bus) {
	return map[string]func(*testing.T, Bus){
		"a study's log is read as it was written":         studyReadBack,
		"a study's log is read on from anywhere":          studyReadOn,
		"a log that nobody has begun is empty":            studyEmpty,
		"appending needs the newest entry":                studyConflict,
		"of many who append at once one is next":          studyTogether,
		"who got no answer finds the entry that is there": studyLostAnswer,
		"studies know nothing of each other":              studiesApart,
		"following a study brings new entries at once":    studyFollow,
		"following a study ends with its context":         studyFollowCancelled,
		"studies are listed with their newest entries":    studiesListed,
		"a study that can't be named is refused":          studyInvalid,
		"an entry that is too large says so":              studyTooLarge,
		"an entry is stored by the bus's clock":           studyStored,
	}
}

var search = events.Study{Pipeline: "penguin", ID: "0af7651916cd43dd8448eb211c80319c"}

// appendStudy appends entries to a log whose newest is after, and returns the sequence of each.
func appendStudy(t *testing.T, bus Bus, study events.Study, after uint64, bodies ...string) (sequences []uint64) {
	t.Helper()
	for _, body := range bodies {
		sequence, err := bus.AppendStudy(t.Context(), study, []byte(body), after)
		must(t, err)
		if sequence <= after {
			t.Fatalf("sequence %d behind %d", sequence, after)
		}
		sequences = append(sequences, sequence)
		after = sequence
	}
	return sequences
}

func readStudy(t *testing.T, bus Bus, study events.Study, after uint64) (all []events.StudyEntry) {
	t.Helper()
	for entry, err := range bus.ReadStudy(t.Context(), study, after, false) {
		must(t, err)
		if entry.Study != study {
			t.Errorf("an entry of %+v, want of %+v", entry.Study, study)
		}
		all = append(all, entry)
	}
	return all
}

// wantEntries compares bodies and sequences.
func wantEntries(t *testing.T, got []events.StudyEntry, sequences []uint64, bodies ...string) {
	t.Helper()
	var gotBodies []string
	var gotSequences []uint64
	for _, entry := range got {
		gotBodies, gotSequences = append(gotBodies, string(entry.Body)), append(gotSequences, entry.Sequence)
	}
	wantSame(t, gotBodies, bodies)
	wantSame(t, gotSequences, sequences)
}

func studyReadBack(t *testing.T, bus Bus) {
	bodies := []string{"first", "\x00\xff", "", `{"a":1}`}
	sequences := appendStudy(t, bus, search, 0, bodies...)
	wantEntries(t, readStudy(t, bus, search, 0), sequences, bodies...)
}

// studyReadOn has more entries than are requested one by one.
func studyReadOn(t *testing.T, bus Bus) {
	var bodies []string
	for i := range 40 {
		bodies = append(bodies, fmt.Sprint(i))
	}
	sequences := appendStudy(t, bus, search, 0, bodies...)
	for _, from := range []int{1, 20, 39, 40} {
		wantEntries(t, readStudy(t, bus, search, sequences[from-1]), nilIfEmpty(sequences[from:]), nilIfEmpty(bodies[from:])...)
	}
	wantEntries(t, readStudy(t, bus, search, sequences[39]+1000), nil)
	for entry, err := range bus.ReadStudy(t.Context(), search, sequences[0], false) {
		must(t, err)
		wantSame(t, entry.Sequence, sequences[1])
		break
	}
}

func nilIfEmpty[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}

func studyEmpty(t *testing.T, bus Bus) {
	wantEntries(t, readStudy(t, bus, search, 0), nil)
	wantEntries(t, readStudy(t, bus, search, 7), nil)
	for entry, err := range bus.Studies(t.Context(), "") {
		t.Errorf("a study that nobody has begun: %+v, %v", entry, err)
	}
}

func studyConflict(t *testing.T, bus Bus) {
	sequences := appendStudy(t, bus, search, 0, "a", "b")
	for _, after := range []uint64{0, sequences[0], sequences[1] + 1, sequences[1] + 1000} {
		_, err := bus.AppendStudy(t.Context(), search, []byte("x"), after)
		wantError(t, err, events.ErrConflict)
	}
	wantEntries(t, readStudy(t, bus, search, 0), sequences, "a", "b")
	_, err := bus.AppendStudy(t.Context(), events.Study{Pipeline: "penguin", ID: "other"}, []byte("x"), sequences[1])
	wantError(t, err, events.ErrConflict)
}

// studyTogether has many workers count up in one log, each by its own reading.
func studyTogether(t *testing.T, bus Bus) {
	const appenders, each = 6, 5
	var group sync.WaitGroup
	errs := make([]error, appenders)
	for i := range appenders {
		group.Go(func() {
			for n := range each {
				errs[i] = errors.Join(errs[i], appendReading(t.Context(), bus, search, fmt.Sprintf("%d-%d", i, n)))
			}
		})
	}
	group.Wait()
	must(t, errors.Join(errs...))
	seen := map[string]int{}
	entries := readStudy(t, bus, search, 0)
	for place, entry := range entries {
		body := strings.Fields(string(entry.Body))
		seen[body[0]]++
		if body[1] != fmt.Sprint(place) {
			t.Errorf("entry %d was appended by who had read %s", place, body[1])
		}
	}
	if len(entries) != appenders*each || len(seen) != appenders*each {
		t.Errorf("%d entries, %d of them different: want %d", len(entries), len(seen), appenders*each)
	}
}

// appendReading reads and appends until it succeeds: its entry holds the number of entries it knew.
func appendReading(ctx context.Context, bus Bus, study events.Study, body string) error {
	var after uint64
	known := 0
	for range 100 { // each conflict is an append of another worker, of which there are fewer
		for entry, err := range bus.ReadStudy(ctx, study, after, false) {
			if err != nil {
				return err
			}
			after = entry.Sequence
			known++
		}
		_, err := bus.AppendStudy(ctx, study, fmt.Append(nil, body, " ", known), after)
		if !errors.Is(err, events.ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("append %s: %w without end", body, events.ErrConflict)
}

func studyLostAnswer(t *testing.T, bus Bus) {
	sequences := appendStudy(t, bus, search, 0, "begun", "mine") // and its answer is lost
	_, err := bus.AppendStudy(t.Context(), search, []byte("mine"), sequences[0])
	wantError(t, err, events.ErrConflict)
	wantEntries(t, readStudy(t, bus, search, sequences[0]), sequences[1:], "mine")
}

func studiesApart(t *testing.T, bus Bus) {
	others := []events.Study{search, {Pipeline: "penguin", ID: "ff"}, {Pipeline: "penguin", ID: "f"}, {Pipeline: "taxi", ID: search.ID}}
	newest := map[events.Study]uint64{}
	for round := range 3 {
		for i, study := range others {
			newest[study] = appendStudy(t, bus, study, newest[study], fmt.Sprint(i, round))[0]
		}
	}
	for i, study := range others {
		var bodies []string
		for _, entry := range readStudy(t, bus, study, 0) {
			bodies = append(bodies, string(entry.Body))
		}
		wantSame(t, bodies, []string{fmt.Sprint(i, 0), fmt.Sprint(i, 1), fmt.Sprint(i, 2)})
	}
}

func studyFollow(t *testing.T, bus Bus) {
	last := appendStudy(t, bus, search, 0, "0", "1")[1]
	ctx, stop := context.WithTimeout(t.Context(), soon)
	defer stop()
	seen := 0
	for entry, err := range bus.ReadStudy(ctx, search, 0, true) {
		must(t, err)
		wantSame(t, string(entry.Body), fmt.Sprint(seen))
		if seen++; seen == 4 {
			stop()
			continue
		}
		if entry.Sequence == last {
			appendStudy(t, bus, events.Study{Pipeline: "penguin", ID: "other"}, 0, "other")
			last = appendStudy(t, bus, search, last, fmt.Sprint(seen), fmt.Sprint(seen+1))[1]
		}
	}
	if seen != 4 {
		t.Errorf("saw %d entries, want 4", seen)
	}
}

func studyFollowCancelled(t *testing.T, bus Bus) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for entry, err := range bus.ReadStudy(ctx, search, 0, true) {
			t.Errorf("got %+v, %v", entry, err)
		}
	}()
	cancel()
	<-ended
}

func studiesListed(t *testing.T, bus Bus) {
	first, second, third := search, events.Study{Pipeline: "penguin", ID: "ff"}, events.Study{Pipeline: "taxi", ID: "1"}
	one := appendStudy(t, bus, first, 0, "1a")
	two := appendStudy(t, bus, second, 0, "2a")
	three := appendStudy(t, bus, third, 0, "3a", "3b")
	one = appendStudy(t, bus, first, one[0], "1b")
	newest := map[events.Study]events.StudyEntry{
		first: {Sequence: one[0], Body: []byte("1b")}, second: {Sequence: two[0], Body: []byte("2a")}, third: {Sequence: three[1], Body: []byte("3b")},
	}
	wantListed(t, bus, "", newest, second, third, first)
	wantListed(t, bus, "penguin", newest, second, first)
	wantListed(t, bus, "cola", newest)
}

// wantListed checks that a copy eventually has a list of studies, each with its newest entry. Every
// earlier list names a study once, in the order of the entries.
func wantListed(t *testing.T, bus Bus, pipeline string, newest map[events.Study]events.StudyEntry, want ...events.Study) {
	t.Helper()
	eventually(t, func() string {
		listed, last := map[events.Study]bool{}, uint64(0)
		var studies []events.Study
		for entry, err := range bus.Studies(t.Context(), pipeline) {
			must(t, err)
			if listed[entry.Study] || entry.Sequence <= last {
				t.Fatalf("entry %d of %v comes behind entry %d of %v", entry.Sequence, entry.Study, last, studies)
			}
			if n := newest[entry.Study]; entry.Sequence == n.Sequence && string(entry.Body) == string(n.Body) {
				studies = append(studies, entry.Study)
			}
			listed[entry.Study], last = true, entry.Sequence
		}
		if len(listed) > len(want) {
			t.Fatalf("%d studies of pipeline %q, want %d", len(listed), pipeline, len(want))
		}
		return cmp.Diff(nilIfEmpty(want), studies)
	})
}

func studyInvalid(t *testing.T, bus Bus) {
	for _, study := range []events.Study{{}, {Pipeline: "penguin"}, {ID: "1"}, {Pipeline: "*", ID: "1"}, {Pipeline: "penguin", ID: "a.b"}, {Pipeline: "penguin", ID: ">"}} {
		_, err := bus.AppendStudy(t.Context(), study, nil, 0)
		reading := firstError(bus.ReadStudy(t.Context(), study, 0, false))
		for _, err := range []error{err, reading} {
			if _, ok := errors.AsType[*events.Invalid](err); !ok {
				t.Errorf("%+v: got error %v, want an *Invalid", study, err)
			}
		}
	}
}

func studyTooLarge(t *testing.T, bus Bus) {
	sequences := appendStudy(t, bus, search, 0, "small")
	_, err := bus.AppendStudy(t.Context(), search, bytes.Repeat([]byte("x"), 9<<20), sequences[0])
	wantError(t, err, events.ErrTooLarge)
	wantEntries(t, readStudy(t, bus, search, 0), sequences, "small")
}

func studyStored(t *testing.T, bus Bus) {
	began := time.Now()
	after := appendStudy(t, bus, search, 0, "a")[0]
	time.Sleep(now)
	appendStudy(t, bus, search, after, "b")
	read := readStudy(t, bus, search, 0)
	if len(read) != 2 {
		t.Fatalf("%d entries, want 2", len(read))
	}
	gap := read[1].Stored.Sub(read[0].Stored)
	if read[0].Stored.Before(began.Truncate(0)) || read[1].Stored.After(time.Now()) || gap < now*9/10 {
		t.Errorf("stored at %s and %s: want two times %s apart after %s", read[0].Stored, read[1].Stored, now, began)
	}
	for again, err := range bus.ReadStudy(t.Context(), search, after, false) {
		must(t, err)
		wantSame(t, again, read[1])
	}
}
