package bustest

import (
	"testing"

	"github.com/stoker-ml/stoker/events"
)

func bucketTests() map[string]func(*testing.T, Bus) {
	return map[string]func(*testing.T, Bus){
		"buckets' notices come as they were sent, in order":         bucketsInOrder,
		"a reader of notices goes on where it was":                  bucketsGoOn,
		"a notice that can never be used is dead-lettered verbatim": bucketsNever,
		"a notice that was handed back comes after its delay":       bucketsLater,
		"notifications of a store without a connection are added":   bucketsNotified,
		"notices are no events, and readers of both are apart":      bucketsApart,
	}
}

const bucketSubject = "buckets.primary"

func injectNotice(t *testing.T, bus Bus, body string) {
	t.Helper()
	must(t, bus.Inject(t.Context(), bucketSubject, nil, []byte(body)))
}

func followBuckets(t *testing.T, bus Bus, reader string) events.Delivery {
	t.Helper()
	delivery, err := bus.FollowBuckets(t.Context(), reader, soon)
	must(t, err)
	return delivery
}

func bucketsNotified(t *testing.T, bus Bus) {
	must(t, bus.Notify(t.Context(), "primary", []byte("one")))
	delivery := followBuckets(t, bus, "bridge")
	if got := delivery.Message(); string(got.Body) != "one" || got.Subject != bucketSubject {
		t.Errorf("notice %+v", got)
	}
	must(t, delivery.Ack(t.Context()))
}

func bucketsInOrder(t *testing.T, bus Bus) {
	_, err := bus.FollowBuckets(t.Context(), "bridge", 0)
	wantError(t, err, events.ErrEmpty)
	for _, body := range []string{"one", "two"} {
		injectNotice(t, bus, body)
	}
	for i, want := range []string{"one", "two"} {
		delivery := followBuckets(t, bus, "bridge")
		got := delivery.Message()
		if string(got.Body) != want || got.Subject != bucketSubject || got.Stream != "BUCKETS" || got.Sequence != uint64(i+1) {
			t.Errorf("notice %d: %+v, want %s", i+1, got, want)
		}
		must(t, delivery.Ack(t.Context()))
	}
	_, err = bus.FollowBuckets(t.Context(), "bridge", Lease+now)
	wantError(t, err, events.ErrEmpty)
}

// bucketsGoOn leaves the first notification unsettled, like a process that dies.
func bucketsGoOn(t *testing.T, bus Bus) {
	injectNotice(t, bus, "one")
	first := followBuckets(t, bus, "bridge")
	again := followBuckets(t, bus, "bridge")
	if first.Message().Sequence != again.Message().Sequence {
		t.Errorf("message %d came after %d, want the same", again.Message().Sequence, first.Message().Sequence)
	}
	if other := followBuckets(t, bus, "audit"); string(other.Message().Body) != "one" {
		t.Errorf("another reader begins with %q, want the oldest", other.Message().Body)
	}
}

func bucketsNever(t *testing.T, bus Bus) {
	injectNotice(t, bus, "no JSON")
	delivery := followBuckets(t, bus, "bridge")
	reason := events.DeadReason{Kind: events.FailureInput, Message: "no\nJSON"}
	must(t, delivery.Term(t.Context(), reason))
	wantDead(t, bus, events.DeadLetter{Message: delivery.Message(), Reason: reason})
	_, err := bus.FollowBuckets(t.Context(), "bridge", Lease+now)
	wantError(t, err, events.ErrEmpty)
}

func bucketsLater(t *testing.T, bus Bus) {
	injectNotice(t, bus, "one")
	must(t, followBuckets(t, bus, "bridge").Nak(t.Context(), 2*now))
	_, err := bus.FollowBuckets(t.Context(), "bridge", now)
	wantError(t, err, events.ErrEmpty)
	must(t, followBuckets(t, bus, "bridge").Ack(t.Context()))
}

func bucketsApart(t *testing.T, bus Bus) {
	injectNotice(t, bus, "notice")
	_, err := bus.Publish(t.Context(), exampleEvent("run 1", "1"))
	must(t, err)
	delivery, err := bus.Follow(t.Context(), "both", soon)
	must(t, err)
	must(t, delivery.Ack(t.Context()))
	if notified := followBuckets(t, bus, "both"); string(notified.Message().Body) != "notice" || delivery.Recorded().Event.ID != "1" {
		t.Errorf("got notification %+v and event %+v", notified.Message(), delivery.Recorded())
	}
	if got := readAll(t, bus, events.Query{}); len(got) != 1 {
		t.Errorf("the log holds %d events, want 1", len(got))
	}
}
