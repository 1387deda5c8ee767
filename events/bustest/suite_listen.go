package bustest

import (
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/events"
)

func listenTests() map[string]func(*testing.T, Bus) {
	return map[string]func(*testing.T, Bus){
		"a listener hears what comes after it first listened": listenFromNowOn,
		"a listener hears the kinds it asked for":             listenKinds,
		"a listener is handed one event at a time":            listenInOrder,
		"who listens again goes on where it was":              listenGoesOn,
		"a listener hears of dead letters":                    listenDead,
		"a dead letter that was dropped is heard no more":     listenDropped,
	}
}

// listens starts a listener: it receives what is published from here on.
func listens(t *testing.T, bus Bus, listener string, kinds ...events.Kind) {
	t.Helper()
	_, err := bus.Listen(t.Context(), listener, kinds, 0)
	wantError(t, err, events.ErrEmpty)
}

func hear(t *testing.T, bus Bus, listener string, kinds ...events.Kind) events.EventDelivery {
	t.Helper()
	delivery, err := bus.Listen(t.Context(), listener, kinds, soon)
	must(t, err)
	return delivery
}

func publish(t *testing.T, bus Bus, ids ...string) {
	t.Helper()
	for _, id := range ids {
		_, err := bus.Publish(t.Context(), exampleEvent("run 1", id))
		must(t, err)
	}
}

func listenFromNowOn(t *testing.T, bus Bus) {
	publish(t, bus, "before")
	listens(t, bus, "ear")
	publish(t, bus, "after")
	heard := hear(t, bus, "ear")
	if id := heard.Recorded().Event.ID; id != "after" {
		t.Errorf("heard %s, want what came after", id)
	}
	must(t, heard.Ack(t.Context()))
	listens(t, bus, "ear")
	must(t, bus.Inject(t.Context(), "events.no-such.event", nil, []byte("no event")))
	if heard := hear(t, bus, "ear"); heard.Recorded().Err == nil || string(heard.Message().Body) != "no event" {
		t.Errorf("heard %+v, want the message that is no event", heard.Recorded())
	}
}

func listenKinds(t *testing.T, bus Bus) {
	kind := exampleEvent("run 1", "x").Data.Kind()
	others := slices.DeleteFunc(events.Kinds(), func(k events.Kind) bool { return k == kind })
	listens(t, bus, "same", kind)
	listens(t, bus, "others", others...)
	publish(t, bus, "1")
	must(t, hear(t, bus, "same", kind).Ack(t.Context()))
	listens(t, bus, "others", others...)
	for { // its kinds change; whether it receives 1, which it had not requested, is undefined
		heard := hearNext(t, bus, "others", kind)
		must(t, heard.Ack(t.Context()))
		if heard.Recorded().Event.ID == "2" {
			return
		}
	}
}

// hearNext publishes another event when none is waiting.
func hearNext(t *testing.T, bus Bus, listener string, kinds ...events.Kind) events.EventDelivery {
	t.Helper()
	if heard, err := bus.Listen(t.Context(), listener, kinds, now); err == nil {
		return heard
	}
	publish(t, bus, "2")
	return hear(t, bus, listener, kinds...)
}

func listenInOrder(t *testing.T, bus Bus) {
	listens(t, bus, "ear")
	publish(t, bus, "1", "2")
	first := hear(t, bus, "ear")
	_, err := bus.Listen(t.Context(), "ear", nil, now)
	wantError(t, err, events.ErrEmpty)
	must(t, first.Nak(t.Context(), 2*now))
	_, err = bus.Listen(t.Context(), "ear", nil, now)
	wantError(t, err, events.ErrEmpty)
	for _, want := range []string{"1", "2"} {
		heard := hear(t, bus, "ear")
		if id := heard.Recorded().Event.ID; id != want {
			t.Errorf("heard %s, want %s", id, want)
		}
		must(t, heard.Ack(t.Context()))
	}
	listens(t, bus, "ear")
}

// listenGoesOn leaves the first event unsettled, like a process that dies.
func listenGoesOn(t *testing.T, bus Bus) {
	listens(t, bus, "ear")
	publish(t, bus, "1", "2")
	hear(t, bus, "ear")
	again := hear(t, bus, "ear")
	if id := again.Recorded().Event.ID; id != "1" {
		t.Errorf("after the first nobody settled, heard %s", id)
	}
	must(t, again.Ack(t.Context()))
	if id := hear(t, bus, "ear").Recorded().Event.ID; id != "2" {
		t.Errorf("then heard %s, want 2", id)
	}
}

func listensDead(t *testing.T, bus Bus) {
	t.Helper()
	_, err := bus.ListenDead(t.Context(), "ear", 0)
	wantError(t, err, events.ErrEmpty)
}

func listenDead(t *testing.T, bus Bus) {
	must(t, bus.DeadLetter(t.Context(), deadLetterOf(6, "before")))
	listensDead(t, bus)
	for sequence := range uint64(2) {
		must(t, bus.DeadLetter(t.Context(), deadLetterOf(7+sequence, "bad")))
	}
	for i := range uint64(2) {
		heard, err := bus.ListenDead(t.Context(), "ear", soon)
		must(t, err)
		if deadLetter := heard.DeadLetter(); deadLetter.Message.Sequence != 7+i || deadLetter.Reason.Message != "bad" || deadLetter.Sequence != i+2 || deadLetter.Stored.IsZero() {
			t.Errorf("heard %+v", deadLetter)
		}
		must(t, heard.Ack(t.Context()))
	}
	listensDead(t, bus)
}

func listenDropped(t *testing.T, bus Bus) {
	listensDead(t, bus)
	must(t, bus.DeadLetter(t.Context(), deadLetterOf(7, "bad")))
	must(t, bus.DeadLetter(t.Context(), deadLetterOf(8, "worse")))
	must(t, bus.DeleteDeadLetter(t.Context(), 1))
	heard, err := bus.ListenDead(t.Context(), "ear", soon)
	must(t, err)
	if got := heard.DeadLetter().Reason.Message; got != "worse" {
		t.Errorf("heard of %q, want what is still there", got)
	}
}
