package eventstest

import (
	"fmt"
	"testing"

	"github.com/stoker-ml/stoker/events"
)

func deadTests() map[string]func(*testing.T, Box) {
	return map[string]func(*testing.T, Box){
		"a message is buried once":               buryOnce,
		"a dead letter that was dropped is gone": dropped,
		"what was dropped can be buried again":   dropThenBury,
		"dead letters come oldest first":         deadInOrder,
	}
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

// letterOf is a dead letter for a fact.
func letterOf(sequence uint64, reason string) events.DeadLetter {
	return events.DeadLetter{
		Message: events.Message{Stream: "FACTS", Sequence: sequence, Subject: "facts.x", Body: []byte("x")},
		Reason:  events.DeadReason{Kind: events.FailureInput, Message: reason},
	}
}

func dropped(t *testing.T, box Box) {
	wantError(t, box.Drop(t.Context(), 1), events.ErrNotFound)
	for sequence := range uint64(3) {
		must(t, box.Bury(t.Context(), letterOf(sequence+7, "bad")))
	}
	second := deadLetters(t, box)[1].Sequence
	must(t, box.Drop(t.Context(), second))
	wantError(t, box.Drop(t.Context(), second), events.ErrNotFound)
	wantError(t, box.Drop(t.Context(), second+100), events.ErrNotFound)
	wantError(t, box.Drop(t.Context(), 0), events.ErrNotFound)
	left := deadLetters(t, box)
	if len(left) != 2 || left[0].Message.Sequence != 7 || left[1].Message.Sequence != 9 {
		t.Errorf("left: %+v, want those of facts 7 and 9", left)
	}
}

// dropThenBury buries the same message before and after it was dropped: each time it is there once.
func dropThenBury(t *testing.T, box Box) {
	var last uint64
	for _, reason := range []string{"first", "second"} {
		must(t, box.Bury(t.Context(), letterOf(7, reason)))
		must(t, box.Bury(t.Context(), letterOf(7, "again")))
		wantDead(t, box, letterOf(7, reason))
		sequence := deadLetters(t, box)[0].Sequence
		if sequence <= last {
			t.Errorf("letter %d after %d: a number must not come twice", sequence, last)
		}
		last = sequence
		must(t, box.Drop(t.Context(), sequence))
		if left := deadLetters(t, box); len(left) != 0 {
			t.Errorf("left: %+v", left)
		}
	}
}

func deadInOrder(t *testing.T, box Box) {
	for i := range 5 {
		letter := events.DeadLetter{Message: events.Message{Stream: "JOBS", Sequence: uint64(9 - i)}, Reason: events.DeadReason{Message: fmt.Sprint(i)}}
		must(t, box.Bury(t.Context(), letter))
	}
	letters := deadLetters(t, box)
	for i, letter := range letters {
		if letter.Reason.Message != fmt.Sprint(i) || letter.Sequence != uint64(i+1) || letter.Buried.IsZero() {
			t.Errorf("letter %d: %+v", i, letter)
		}
	}
	if len(letters) != 5 {
		t.Errorf("read %d letters, want 5", len(letters))
	}
}
