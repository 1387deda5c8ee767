package eventstest

import (
	"testing"

	"github.com/stoker-ml/stoker/events"
)

func bucketTests() map[string]func(*testing.T, Box) {
	return map[string]func(*testing.T, Box){
		"buckets' notices come as they were sent, in order":   bucketsInOrder,
		"a reader of notices goes on where it was":            bucketsGoOn,
		"a notice that can never be used is buried verbatim":  bucketsNever,
		"a notice that was handed back comes after its delay": bucketsLater,
		"a store without a connection has its notices told":   bucketsNotified,
		"notices are no facts, and readers of both are apart": bucketsApart,
	}
}

const bucketSubject = "buckets.primary"

func injectNotice(t *testing.T, box Box, body string) {
	t.Helper()
	must(t, box.Inject(t.Context(), bucketSubject, nil, []byte(body)))
}

func followBuckets(t *testing.T, box Box, reader string) events.Notice {
	t.Helper()
	notice, err := box.FollowBuckets(t.Context(), reader, soon)
	must(t, err)
	return notice
}

func bucketsNotified(t *testing.T, box Box) {
	must(t, box.Notify(t.Context(), "primary", []byte("one")))
	notice := followBuckets(t, box, "bridge")
	if got := notice.Message(); string(got.Body) != "one" || got.Subject != bucketSubject {
		t.Errorf("notice %+v", got)
	}
	must(t, notice.Done(t.Context()))
}

func bucketsInOrder(t *testing.T, box Box) {
	_, err := box.FollowBuckets(t.Context(), "bridge", 0)
	wantError(t, err, events.ErrEmpty)
	for _, body := range []string{"one", "two"} {
		injectNotice(t, box, body)
	}
	for i, want := range []string{"one", "two"} {
		notice := followBuckets(t, box, "bridge")
		got := notice.Message()
		if string(got.Body) != want || got.Subject != bucketSubject || got.Stream != "BUCKETS" || got.Sequence != uint64(i+1) {
			t.Errorf("notice %d: %+v, want %s", i+1, got, want)
		}
		must(t, notice.Done(t.Context()))
	}
	_, err = box.FollowBuckets(t.Context(), "bridge", Lease+now)
	wantError(t, err, events.ErrEmpty)
}

// bucketsGoOn leaves the first notice unsettled, as a process that dies does.
func bucketsGoOn(t *testing.T, box Box) {
	injectNotice(t, box, "one")
	first := followBuckets(t, box, "bridge")
	again := followBuckets(t, box, "bridge")
	if first.Message().Sequence != again.Message().Sequence {
		t.Errorf("message %d came after %d, want the same", again.Message().Sequence, first.Message().Sequence)
	}
	if other := followBuckets(t, box, "audit"); string(other.Message().Body) != "one" {
		t.Errorf("another reader begins with %q, want the oldest", other.Message().Body)
	}
}

func bucketsNever(t *testing.T, box Box) {
	injectNotice(t, box, "no JSON")
	notice := followBuckets(t, box, "bridge")
	reason := events.DeadReason{Kind: events.FailureInput, Message: "no\nJSON"}
	must(t, notice.Never(t.Context(), reason))
	wantDead(t, box, events.DeadLetter{Message: notice.Message(), Reason: reason})
	_, err := box.FollowBuckets(t.Context(), "bridge", Lease+now)
	wantError(t, err, events.ErrEmpty)
}

func bucketsLater(t *testing.T, box Box) {
	injectNotice(t, box, "one")
	must(t, followBuckets(t, box, "bridge").Later(t.Context(), 2*now))
	_, err := box.FollowBuckets(t.Context(), "bridge", now)
	wantError(t, err, events.ErrEmpty)
	must(t, followBuckets(t, box, "bridge").Done(t.Context()))
}

func bucketsApart(t *testing.T, box Box) {
	injectNotice(t, box, "notice")
	_, err := box.Publish(t.Context(), exampleFact("run 1", "1"))
	must(t, err)
	delivery, err := box.Follow(t.Context(), "both", soon)
	must(t, err)
	must(t, delivery.Done(t.Context()))
	if notice := followBuckets(t, box, "both"); string(notice.Message().Body) != "notice" || delivery.Recorded().Fact.ID != "1" {
		t.Errorf("got notice %+v and fact %+v", notice.Message(), delivery.Recorded())
	}
	if got := readAll(t, box, events.Query{}); len(got) != 1 {
		t.Errorf("the log holds %d facts, want 1", len(got))
	}
}
