package replay_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/replay"
)

func TestReasonsThatDifferInNumbersIDsAndRunsHaveOnePattern(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		a, runA, b, runB string
		same             bool
	}{
		"numbers":       {"Dimensions must be equal, but are 13 and 14.5", "", "Dimensions must be equal, but are 7 and 128", "", true},
		"digests":       {"object bkt/0a1b2c3d4e5f6789 is gone", "", "object bkt/ffff0000aaaa1111 is gone", "", true},
		"UUIDs":         {"session 123e4567-e89b-12d3-a456-426614174000 ended", "", "session 9c858901-8a57-4791-81fe-4c455b099bc9 ended", "", true},
		"other lines":   {"ValueError: boom\n  File a.py", "", "ValueError: boom\n  File b.py", "", true},
		"runs":          {"run monday of penguin has ended", "monday", "run tuesday of penguin has ended", "tuesday", true},
		"words":         {"ValueError: boom", "", "TypeError: boom", "", false},
		"pipelines":     {"expected the name of an applied pipeline, got pengiun", "", "expected the name of an applied pipeline, got taxy", "", false},
		"part of words": {"mondays are bad", "monday", "tuesdays are bad", "tuesday", false},
		"hex words":     {"the facade faceeeed", "", "the facade deadbeef", "", false},
	} {
		a, b := replay.ReasonPattern(tc.a, tc.runA), replay.ReasonPattern(tc.b, tc.runB)
		if (a == b) != tc.same {
			t.Errorf("%s: %q and %q", name, a, b)
		}
	}
}

func TestAPatternIsBounded(t *testing.T) {
	t.Parallel()
	for _, hostile := range []string{strings.Repeat("é\xff", 1<<20), strings.Repeat("1", 1<<20), "\x1b[2J" + strings.Repeat("a\rb", 1<<20), strings.Repeat("aa", 1<<20)} {
		if got := replay.ReasonPattern(hostile, "a"); len(got) > 2000 {
			t.Errorf("%d bytes", len(got))
		}
	}
}

func TestDeadLettersAreGrouped(t *testing.T) {
	t.Parallel()
	letter := func(number uint64, run, reason string, kind events.FailureKind) replay.DeadLetter {
		return replay.DeadLetter{
			Number: number, Stored: time.Unix(int64(number), 0), Pipeline: "p-" + run[:1], Run: run,
			DeadLetter: events.DeadLetter{Reason: events.DeadReason{Kind: kind, Message: reason}},
		}
	}
	letters := []replay.DeadLetter{
		letter(1, "b1", "step 12 of run b1 failed", events.FailureModule), letter(2, "a2", "no such bucket", events.FailureInput),
		letter(3, "a3", "step 7 of run a3 failed", events.FailureModule), letter(4, "a4", "step 7 of run a4 failed", events.FailureInput),
	}
	groups := replay.Groups(letters)
	if len(groups) != 3 {
		t.Fatalf("%+v", groups)
	}
	first := groups[0]
	if first.Count != 2 || first.Reason != "step # of run RUN failed" || first.Kind != events.FailureModule || first.First.Unix() != 1 || first.Last.Unix() != 3 ||
		strings.Join(first.Pipelines, " ") != "p-a p-b" || len(first.Numbers) != 2 || first.Numbers[1] != 3 {
		t.Errorf("%+v", first)
	}
	if first.ID != letters[0].Group() || first.ID != letters[2].Group() || first.ID == letters[3].Group() {
		t.Error("a letter names another group than its own")
	}
	if groups[1].Numbers[0] != 4 || groups[2].Numbers[0] != 2 {
		t.Errorf("of equal groups the newest is not first: %+v", groups[1:])
	}
}
