package eventstest

import (
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/events"
)

func listenTests() map[string]func(*testing.T, Box) {
	return map[string]func(*testing.T, Box){
		"a listener hears what comes after it first listened": listenFromNowOn,
		"a listener hears the kinds it asked for":             listenKinds,
		"a listener is handed one fact at a time":             listenInOrder,
		"who listens again goes on where it was":              listenGoesOn,
		"a listener hears of dead letters":                    listenDead,
		"a dead letter that was dropped is heard no more":     listenDropped,
	}
}

// listens has a listener there: what is published from here on it hears.
func listens(t *testing.T, box Box, listener string, kinds ...events.Kind) {
	t.Helper()
	_, err := box.Listen(t.Context(), listener, kinds, 0)
	wantError(t, err, events.ErrEmpty)
}

func hear(t *testing.T, box Box, listener string, kinds ...events.Kind) events.Delivery {
	t.Helper()
	delivery, err := box.Listen(t.Context(), listener, kinds, soon)
	must(t, err)
	return delivery
}

func publish(t *testing.T, box Box, ids ...string) {
	t.Helper()
	for _, id := range ids {
		_, err := box.Publish(t.Context(), exampleFact("run 1", id))
		must(t, err)
	}
}

func listenFromNowOn(t *testing.T, box Box) {
	publish(t, box, "before")
	listens(t, box, "ear")
	publish(t, box, "after")
	heard := hear(t, box, "ear")
	if id := heard.Recorded().Fact.ID; id != "after" {
		t.Errorf("heard %s, want what came after", id)
	}
	must(t, heard.Done(t.Context()))
	listens(t, box, "ear")
	must(t, box.Inject(t.Context(), "facts.no-such.fact", nil, []byte("no fact")))
	if heard := hear(t, box, "ear"); heard.Recorded().Err == nil || string(heard.Message().Body) != "no fact" {
		t.Errorf("heard %+v, want the message that is no fact", heard.Recorded())
	}
}

func listenKinds(t *testing.T, box Box) {
	kind := exampleFact("run 1", "x").Data.Kind()
	others := slices.DeleteFunc(events.Kinds(), func(k events.Kind) bool { return k == kind })
	listens(t, box, "same", kind)
	listens(t, box, "others", others...)
	publish(t, box, "1")
	must(t, hear(t, box, "same", kind).Done(t.Context()))
	listens(t, box, "others", others...)
	for { // it changes its mind; whether it hears of 1, which it had not asked for, is left open
		heard := hearNext(t, box, "others", kind)
		must(t, heard.Done(t.Context()))
		if heard.Recorded().Fact.ID == "2" {
			return
		}
	}
}

// hearNext publishes another fact where there is none to hear.
func hearNext(t *testing.T, box Box, listener string, kinds ...events.Kind) events.Delivery {
	t.Helper()
	if heard, err := box.Listen(t.Context(), listener, kinds, now); err == nil {
		return heard
	}
	publish(t, box, "2")
	return hear(t, box, listener, kinds...)
}

func listenInOrder(t *testing.T, box Box) {
	listens(t, box, "ear")
	publish(t, box, "1", "2")
	first := hear(t, box, "ear")
	_, err := box.Listen(t.Context(), "ear", nil, now)
	wantError(t, err, events.ErrEmpty)
	must(t, first.Later(t.Context(), 2*now))
	_, err = box.Listen(t.Context(), "ear", nil, now)
	wantError(t, err, events.ErrEmpty)
	for _, want := range []string{"1", "2"} {
		heard := hear(t, box, "ear")
		if id := heard.Recorded().Fact.ID; id != want {
			t.Errorf("heard %s, want %s", id, want)
		}
		must(t, heard.Done(t.Context()))
	}
	listens(t, box, "ear")
}

// listenGoesOn leaves the first fact unsettled, as a process that dies does.
func listenGoesOn(t *testing.T, box Box) {
	listens(t, box, "ear")
	publish(t, box, "1", "2")
	hear(t, box, "ear")
	again := hear(t, box, "ear")
	if id := again.Recorded().Fact.ID; id != "1" {
		t.Errorf("after the first nobody settled, heard %s", id)
	}
	must(t, again.Done(t.Context()))
	if id := hear(t, box, "ear").Recorded().Fact.ID; id != "2" {
		t.Errorf("then heard %s, want 2", id)
	}
}

func listensDead(t *testing.T, box Box) {
	t.Helper()
	_, err := box.ListenDead(t.Context(), "ear", 0)
	wantError(t, err, events.ErrEmpty)
}

func listenDead(t *testing.T, box Box) {
	must(t, box.Bury(t.Context(), letterOf(6, "before")))
	listensDead(t, box)
	for sequence := range uint64(2) {
		must(t, box.Bury(t.Context(), letterOf(7+sequence, "bad")))
	}
	for i := range uint64(2) {
		heard, err := box.ListenDead(t.Context(), "ear", soon)
		must(t, err)
		if letter := heard.Letter(); letter.Message.Sequence != 7+i || letter.Reason.Message != "bad" || letter.Sequence != i+2 || letter.Buried.IsZero() {
			t.Errorf("heard %+v", letter)
		}
		must(t, heard.Done(t.Context()))
	}
	listensDead(t, box)
}

func listenDropped(t *testing.T, box Box) {
	listensDead(t, box)
	must(t, box.Bury(t.Context(), letterOf(7, "bad")))
	must(t, box.Bury(t.Context(), letterOf(8, "worse")))
	must(t, box.Drop(t.Context(), 1))
	heard, err := box.ListenDead(t.Context(), "ear", soon)
	must(t, err)
	if got := heard.Letter().Reason.Message; got != "worse" {
		t.Errorf("heard of %q, want what is still there", got)
	}
}
