package bustest

import (
	"fmt"
	"testing"

	"github.com/stoker-ml/stoker/events"
)

func deadTests() map[string]func(*testing.T, Bus) {
	return map[string]func(*testing.T, Bus){
		"a message is dead-lettered once":             deadLettersOnce,
		"a dead letter that was dropped is gone":      dropped,
		"what was dropped can be dead-lettered again": deleteThenDeadLetter,
		"dead letters come oldest first":              deadInOrder,
	}
}

func deadLettersOnce(t *testing.T, bus Bus) {
	deadLetter := events.DeadLetter{
		Message: events.Message{Stream: "EVENTS", Sequence: 7, Subject: "events.x", Header: map[string][]string{"A": {"b"}}, Body: []byte("\x00\xff")},
		Reason:  events.DeadReason{Kind: events.FailureInput, Message: "bad", Field: "run"},
	}
	must(t, bus.DeadLetter(t.Context(), deadLetter))
	other := deadLetter
	other.Reason.Message = "second"
	must(t, bus.DeadLetter(t.Context(), other))
	wantDead(t, bus, deadLetter)
}

// deadLetterOf returns a dead letter for an event.
func deadLetterOf(sequence uint64, reason string) events.DeadLetter {
	return events.DeadLetter{
		Message: events.Message{Stream: "EVENTS", Sequence: sequence, Subject: "events.x", Body: []byte("x")},
		Reason:  events.DeadReason{Kind: events.FailureInput, Message: reason},
	}
}

func dropped(t *testing.T, bus Bus) {
	wantError(t, bus.DeleteDeadLetter(t.Context(), 1), events.ErrNotFound)
	for sequence := range uint64(3) {
		must(t, bus.DeadLetter(t.Context(), deadLetterOf(sequence+7, "bad")))
	}
	second := deadLetters(t, bus)[1].Sequence
	must(t, bus.DeleteDeadLetter(t.Context(), second))
	wantError(t, bus.DeleteDeadLetter(t.Context(), second), events.ErrNotFound)
	wantError(t, bus.DeleteDeadLetter(t.Context(), second+100), events.ErrNotFound)
	wantError(t, bus.DeleteDeadLetter(t.Context(), 0), events.ErrNotFound)
	left := deadLetters(t, bus)
	if len(left) != 2 || left[0].Message.Sequence != 7 || left[1].Message.Sequence != 9 {
		t.Errorf("left: %+v, want those of events 7 and 9", left)
	}
}

// deleteThenDeadLetter dead-letters the same message before and after its dead letter was deleted:
// each time there is one.
func deleteThenDeadLetter(t *testing.T, bus Bus) {
	var last uint64
	for _, reason := range []string{"first", "second"} {
		must(t, bus.DeadLetter(t.Context(), deadLetterOf(7, reason)))
		must(t, bus.DeadLetter(t.Context(), deadLetterOf(7, "again")))
		wantDead(t, bus, deadLetterOf(7, reason))
		sequence := deadLetters(t, bus)[0].Sequence
		if sequence <= last {
			t.Errorf("letter %d after %d: a number must not come twice", sequence, last)
		}
		last = sequence
		must(t, bus.DeleteDeadLetter(t.Context(), sequence))
		if left := deadLetters(t, bus); len(left) != 0 {
			t.Errorf("left: %+v", left)
		}
	}
}

func deadInOrder(t *testing.T, bus Bus) {
	for i := range 5 {
		deadLetter := events.DeadLetter{Message: events.Message{Stream: "JOBS", Sequence: uint64(9 - i)}, Reason: events.DeadReason{Message: fmt.Sprint(i)}}
		must(t, bus.DeadLetter(t.Context(), deadLetter))
	}
	all := deadLetters(t, bus)
	for i, deadLetter := range all {
		if deadLetter.Reason.Message != fmt.Sprint(i) || deadLetter.Sequence != uint64(i+1) || deadLetter.Stored.IsZero() {
			t.Errorf("letter %d: %+v", i, deadLetter)
		}
	}
	if len(all) != 5 {
		t.Errorf("read %d dead letters, want 5", len(all))
	}
}
