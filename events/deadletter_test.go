package events

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestADeadLetterFitsIntoOneMessageOfTheBus(t *testing.T) {
	t.Parallel()
	const maxBytes = 1 << 20
	message := func(bytesInBody int) Message {
		return Message{Stream: "EVENTS", Sequence: 7, Subject: "events.x", Body: bytes.Repeat([]byte("x"), bytesInBody)}
	}
	for name, tc := range map[string]struct {
		deadLetter            DeadLetter
		wholeBody, wholeCause bool
	}{
		"small":                {DeadLetter{Message: message(100), Causes: []Message{message(100)}}, true, true},
		"large causes":         {DeadLetter{Message: message(100), Causes: []Message{message(500_000), message(500_000)}}, true, false},
		"as large as an event": {DeadLetter{Message: message(maxBytes - 1), Causes: []Message{message(100)}}, false, false},
		"larger than anybody":  {DeadLetter{Message: message(3 * maxBytes)}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := tc.deadLetter.Encode(maxBytes)
			if err != nil || len(text) > maxBytes {
				t.Fatalf("%d bytes, %v", len(text), err)
			}
			var got DeadLetter
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatal(err)
			}
			checkCut(t, tc.deadLetter.Message, got.Message, tc.wholeBody)
			for i, cause := range got.Causes {
				checkCut(t, tc.deadLetter.Causes[i], cause, tc.wholeCause)
			}
		})
	}
}

func checkCut(t *testing.T, was, got Message, whole bool) {
	t.Helper()
	if whole != (got.Cut == nil) || whole != (len(got.Body) == len(was.Body)) || !bytes.HasPrefix(was.Body, got.Body) {
		t.Errorf("%d of %d bytes are kept, cut %+v", len(got.Body), len(was.Body), got.Cut)
	}
	if got.Cut != nil && (got.Cut.Bytes != len(was.Body) || len(got.Cut.SHA256) != 64) {
		t.Errorf("cut is %+v", got.Cut)
	}
}

func TestADeadLetterTooLargeForItsReasonIsAnError(t *testing.T) {
	t.Parallel()
	if _, err := (DeadLetter{Message: Message{Subject: "x"}, Reason: DeadReason{Message: "why"}}).Encode(10); err == nil {
		t.Error("it fits into 10 bytes")
	}
}
