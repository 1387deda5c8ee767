package bustest

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/stoker-ml/stoker/events"
)

func readAll(t *testing.T, bus Bus, q events.Query) []events.Recorded {
	t.Helper()
	var all []events.Recorded
	for recorded, err := range bus.Read(t.Context(), q) {
		must(t, err)
		all = append(all, recorded)
	}
	return all
}

func ids(all []events.Recorded) string {
	var ids []string
	for _, recorded := range all {
		ids = append(ids, recorded.Event.ID)
	}
	return strings.Join(ids, " ")
}

func take(t *testing.T, bus Bus, classes ...string) events.Claim {
	t.Helper()
	claim, err := bus.Claim(t.Context(), events.FunctionTrain, classes, soon)
	must(t, err)
	return claim
}

// eventually calls check until it returns nothing wrong. A read of any copy shows a write some time
// after it was acknowledged.
func eventually(t *testing.T, check func() (wrong string)) {
	t.Helper()
	for deadline := time.Now().Add(soon); ; time.Sleep(now / 10) {
		wrong := check()
		if wrong == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(wrong)
		}
	}
}

func takeNothing(t *testing.T, bus Bus, classes ...string) {
	t.Helper()
	_, err := bus.Claim(t.Context(), events.FunctionTrain, classes, now)
	wantError(t, err, events.ErrEmpty)
}

func wantSame[T any](t *testing.T, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func wantEvent(t *testing.T, got, want events.Event) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
}

// wantDead checks that there is one dead letter, byte for byte as received.
func wantDead(t *testing.T, bus Bus, want events.DeadLetter) {
	t.Helper()
	kept := cmpopts.IgnoreFields(events.DeadLetter{}, "Sequence", "Stored")
	if diff := cmp.Diff([]events.DeadLetter{want}, deadLetters(t, bus), kept, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("dead letters (-want +got):\n%s", diff)
	}
}

// markers counts the dead letters by which deadLetters recognizes an up-to-date copy.
var markers atomic.Uint64

// deadLetters returns the current dead letters. It adds one, and reads until a copy has it: the
// copy then holds everything before. The added ones are left out.
func deadLetters(t *testing.T, bus Bus) (all []events.DeadLetter) {
	t.Helper()
	const marker = "marker"
	name := fmt.Sprint(markers.Add(1))
	must(t, bus.DeadLetter(t.Context(), events.DeadLetter{Message: events.Message{Stream: events.StreamEvents, Sequence: 1 << 40, Subject: marker, Body: []byte(name)}}))
	eventually(t, func() string {
		shown := false
		all = nil
		for deadLetter, err := range bus.DeadLetters(t.Context()) {
			must(t, err)
			if deadLetter.Message.Subject != marker {
				all = append(all, deadLetter)
			}
			shown = shown || string(deadLetter.Message.Body) == name
		}
		if !shown {
			return "no copy shows the newest dead letter"
		}
		return ""
	})
	return all
}
