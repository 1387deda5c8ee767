package history

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

var began = time.Date(2026, 11, 23, 6, 0, 0, 0, time.UTC)

func input(sequence uint64, pipeline, run, kind, id string) Event {
	return Event{Run: Run{pipeline, run}, Sequence: sequence, Stored: began, Kind: kind, Source: "/up", ID: id,
		Subject: "events." + strings.ReplaceAll(kind, ".", "-") + "." + pipeline + "." + run + "." + id}
}

func trained(sequence uint64, pipeline, run, cause, execution string) Event {
	e := input(sequence, pipeline, run, modelTrained, execution)
	e.Source, e.Causation, e.Data = workerSource, cause, Data{Execution: execution}
	return e
}

func failed(sequence uint64, pipeline, run, cause string) Event {
	e := input(sequence, pipeline, run, trainingFailed, "f"+cause)
	e.Source, e.Causation, e.Data = workerSource, cause, Data{Reason: "module"}
	return e
}

func ended(sequence uint64, pipeline, run, reason string, through uint64) Event {
	e := input(sequence, pipeline, run, trainingFailed, endedID(Run{pipeline, run}))
	e.Source, e.Data = dispatcherSource, Data{Reason: reason, Through: through}
	return e
}

func revisions(t *testing.T, text string) []Revision {
	t.Helper()
	var spec Spec
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		t.Fatal(err)
	}
	return []Revision{{Revision: 1, Spec: spec}}
}

// join returns an entry of a run whose events have the sequences.
func join(t *testing.T, pipeline, run, state string, sequences ...uint64) Join {
	t.Helper()
	type event struct {
		Sequence uint64 `json:"sequence"`
	}
	evs := []event{}
	for _, s := range sequences {
		evs = append(evs, event{s})
	}
	text, err := json.Marshal(map[string]any{"pipeline": pipeline, "run": run, "state": state, "events": evs,
		"stages": []Stage{{Function: "train", Job: "job-" + run}}})
	if err != nil {
		t.Fatal(err)
	}
	var out Join
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// kept returns a history without a violation: of pair, a was trained, b waits, c was cancelled and
// d failed; e of gated waits at its gate, and f of brief has expired.
func kept(t *testing.T) History {
	h := History{
		Now: began.Add(5 * time.Minute),
		Events: []Event{
			input(1, "pair", "a", transformReady, "a1"), input(2, "pair", "a", hparamsReady, "a2"),
			input(3, "pair", "a", transformReady, "a3"), input(4, "pair", "b", transformReady, "b1"),
			input(5, "pair", "c", hparamsReady, "c1"), input(6, "pair", "d", hparamsReady, "d1"),
			input(7, "pair", "d", transformReady, "d2"), input(8, "gated", "e", transformReady, "e1"),
			input(9, "brief", "f", transformReady, "f1"), input(10, "gated", "g", hparamsReady, "g1"),
			trained(20, "pair", "a", "a2", "x"), ended(21, "pair", "c", "cancelled", 5),
			failed(22, "pair", "d", "d2"), ended(23, "brief", "f", "incomplete", 9),
		},
		Pipelines: map[string][]Revision{
			"pair":  revisions(t, `{"trainer":{"wait_for":["transform","hparams"],"hyperparameters":"run","expire_after":"168h"}}`),
			"gated": revisions(t, `{"trainer":{"wait_for":["transform"],"hyperparameters":"none","expire_after":"168h"},"concurrency":{"runs":2}}`),
			"brief": revisions(t, `{"trainer":{"wait_for":["transform","examples"],"hyperparameters":"none","expire_after":"3s"}}`),
		},
		Gates:  map[string]Gate{"gated": {Paused: true, Waiting: []Place{{Run: "e"}}}},
		Leases: map[string]Lease{"job-a": {Number: 1}},
		Joins:  map[string]Join{},
	}
	for _, j := range []Join{
		join(t, "pair", "a", "dispatched", 1, 2), join(t, "pair", "b", "waiting", 4), join(t, "pair", "c", "ended", 5),
		join(t, "pair", "d", "dispatched", 6, 7), join(t, "gated", "e", "complete", 8), join(t, "brief", "f", "ended", 9),
	} {
		h.Joins[Run{j.Pipeline, j.Run}.String()] = j
	}
	for _, e := range h.Events {
		if e.Source == "/up" {
			h.Published = append(h.Published, Published{Run: e.Run, Kind: e.Kind, Source: e.Source, ID: e.ID, Sequence: e.Sequence, Sent: began})
		}
	}
	return h
}

// meant returns kept with all outcomes that were intended.
func meant(t *testing.T) History {
	h := kept(t)
	h.intend()
	return h
}

func (h *History) intend() {
	h.Intended = &Intended{
		Trained: []Run{{"pair", "a"}},
		Stopped: map[Run]bool{{"pair", "c"}: true},
		Failing: map[Run]bool{{"pair", "d"}: true},
	}
}

func TestAHistoryThatKeepsThePromises(t *testing.T) {
	t.Parallel()
	for _, h := range []History{kept(t), meant(t)} {
		for _, v := range h.Check() {
			t.Error(v)
		}
	}
}

// without removes the events with a sequence.
func (h *History) without(sequence uint64) {
	h.Events = slices.DeleteFunc(h.Events, func(e Event) bool { return e.Sequence == sequence })
}

// become changes the state of a join.
func (h *History) become(run, state string) {
	j := h.Joins[run]
	j.State = state
	h.Joins[run] = j
}

// The server's advisory about a message that is gone is no dead letter of Stoker's, and a malformed
// message that was published twice has two.
func TestDeadLettersThatAreNoViolation(t *testing.T) {
	t.Parallel()
	h := meant(t)
	h.DeadLetters = append(h.DeadLetters, DeadLetter{Stream: "JOBS", Sequence: 4, Advisory: true}, DeadLetter{Stream: "EVENTS", Sequence: 4, Subject: "events.x.pair.b.b1", Advisory: true})
	h.Spoiled = []string{"events.x"}
	for sequence := range uint64(2) {
		h.Events = append(h.Events, Event{Sequence: 40 + sequence, Subject: "events.x", Kind: unreadable})
		h.DeadLetters = append(h.DeadLetters, DeadLetter{Stream: "EVENTS", Sequence: 40 + sequence, Subject: "events.x"})
	}
	if found := h.Check(); len(found) > 0 {
		t.Errorf("found %v", found)
	}
}

// Each history breaks one promise. The checker names that promise, and the run, and no other
// promise unless one follows from it.
func TestEachViolationIsFound(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		rule    Rule
		run     string
		pending bool
		also    []Rule
		change  func(t *testing.T, h *History)
	}{
		"two models of one execution": {rule: OneModel, run: "pair/a", change: func(_ *testing.T, h *History) {
			e := trained(30, "pair", "a", "a2", "x")
			e.ID = "other"
			h.Events = append(h.Events, e)
		}},
		"two models of two executions": {rule: OneModel, run: "pair/a", change: func(_ *testing.T, h *History) {
			h.Events = append(h.Events, trained(30, "pair", "a", "a2", "y"))
		}},
		"a model after the end": {rule: OneEnd, run: "pair/c", change: func(_ *testing.T, h *History) {
			h.Events = append(h.Events, trained(30, "pair", "c", "c1", "y"))
		}},
		"a model before the end": {rule: OneEnd, run: "pair/a", also: []Rule{JoinFollows}, change: func(_ *testing.T, h *History) {
			h.Events = append(h.Events, ended(30, "pair", "a", "cancelled", 2))
		}},
		"a model of a cancelled job": {rule: OneOutcome, run: "pair/d", change: func(_ *testing.T, h *History) {
			h.Events = append(h.Events, trained(30, "pair", "d", "d2", "y"))
		}},
		"two failures of one job": {rule: OneOutcome, run: "pair/d", change: func(_ *testing.T, h *History) {
			e := failed(30, "pair", "d", "d2")
			e.ID = "other"
			h.Events = append(h.Events, e)
		}},
		"two ends": {rule: OneOutcome, run: "pair/c", also: []Rule{Kept}, change: func(_ *testing.T, h *History) {
			h.Events = append(h.Events, ended(30, "pair", "c", "cancelled", 5))
		}},
		"a model of a wrong event": {rule: Caused, run: "pair/a", change: func(_ *testing.T, h *History) {
			for i := range h.Events {
				if h.Events[i].Kind == modelTrained {
					h.Events[i].Causation = "a3"
				}
			}
		}},
		"an acknowledged event is lost": {rule: Kept, run: "pair/a", change: func(_ *testing.T, h *History) { h.without(3) }},
		"an acknowledged event is another": {rule: Kept, run: "pair/a", change: func(_ *testing.T, h *History) {
			h.Published[2].Sequence = 4
		}},
		"an event is stored twice": {rule: Kept, run: "pair/a", change: func(_ *testing.T, h *History) {
			h.Events = append(h.Events, input(30, "pair", "a", transformReady, "a1"))
		}},
		"a run without a join": {rule: Outcome, run: "pair/b", pending: true, change: func(_ *testing.T, h *History) { delete(h.Joins, "pair/b") }},
		"a job without an outcome": {rule: Outcome, run: "pair/a", pending: true, change: func(_ *testing.T, h *History) {
			h.without(20)
		}},
		"a complete run that no gate lists": {rule: Outcome, run: "gated/e", pending: true, change: func(_ *testing.T, h *History) {
			h.Gates["gated"] = Gate{Paused: true}
		}},
		"an event is a dead letter": {rule: NoDeadLetter, run: "pair/b", change: func(_ *testing.T, h *History) {
			h.DeadLetters = append(h.DeadLetters, DeadLetter{Stream: "EVENTS", Sequence: 4, Subject: "events.transform-ready.pair.b.b1"})
		}},
		"a job is a dead letter in silence": {rule: Announced, run: "pair/a", pending: true, change: func(_ *testing.T, h *History) {
			h.DeadLetters = append(h.DeadLetters, DeadLetter{Stream: "JOBS", Sequence: 4, Subject: "jobs.train.cpu.job-a"})
		}},
		"a join lacks an event": {rule: JoinFollows, run: "pair/a", change: func(t *testing.T, h *History) {
			h.Joins["pair/a"] = join(t, "pair", "a", "dispatched", 1)
		}},
		"a join has a later event": {rule: JoinFollows, run: "pair/a", change: func(t *testing.T, h *History) {
			h.Joins["pair/a"] = join(t, "pair", "a", "dispatched", 2, 3)
		}},
		"a job of a run that is not complete": {rule: JoinFollows, run: "pair/b", also: []Rule{Outcome}, change: func(_ *testing.T, h *History) {
			h.become("pair/b", "dispatched")
		}},
		"a join waits for nothing": {rule: JoinFollows, run: "pair/a", pending: true, change: func(_ *testing.T, h *History) {
			h.become("pair/a", "waiting")
		}},
		"an end that is not announced": {rule: JoinFollows, run: "pair/c", pending: true, also: []Rule{Outcome}, change: func(_ *testing.T, h *History) {
			h.without(21)
		}},
		"an end that the join doesn't know": {rule: JoinFollows, run: "pair/b", pending: true, change: func(_ *testing.T, h *History) {
			h.Events = append(h.Events, ended(30, "pair", "b", "cancelled", 4))
		}},
		"a run expires early": {rule: NotTooEarly, run: "pair/c", change: func(_ *testing.T, h *History) {
			for i := range h.Events {
				if h.Events[i].Sequence == 21 {
					h.Events[i].Data.Reason = "incomplete"
				}
			}
		}},
		"a complete run expires": {rule: NotTooEarly, run: "brief/f", change: func(t *testing.T, h *History) {
			h.Events = append(h.Events[:10:10], append([]Event{input(11, "brief", "f", examplesReady, "f2")}, h.Events[10:]...)...)
			for i := range h.Events {
				if h.Events[i].Sequence == 23 {
					h.Events[i].Data.Through = 11
				}
			}
			j := join(t, "brief", "f", "ended", 9, 11)
			if err := json.Unmarshal([]byte(`{"kind":"incomplete"}`), &j.Ending); err != nil {
				t.Fatal(err)
			}
			h.Joins["brief/f"] = j
		}},
		"a run that does not expire": {rule: NotForever, run: "brief/f", pending: true, change: func(t *testing.T, h *History) {
			h.without(23)
			h.Joins["brief/f"] = join(t, "brief", "f", "waiting", 9)
		}},
		"a gate without a reason": {rule: GateHasReason, run: "gated/e", pending: true, change: func(_ *testing.T, h *History) {
			h.Gates["gated"] = Gate{Admitted: []Place{{Run: "z"}}, Waiting: []Place{{Run: "e"}}}
		}},
		"a cancel that ends nothing": {rule: CancelHolds, run: "pair/b", change: func(_ *testing.T, h *History) {
			h.Cancelled = []Run{{"pair", "c"}, {"pair", "b"}}
		}},
		"a job of a paused pipeline": {rule: PauseHolds, run: "gated/e", pending: false, also: []Rule{Outcome}, change: func(_ *testing.T, h *History) {
			h.Held = []string{"gated"}
			h.become("gated/e", "dispatched")
		}},
		"a message that is no event": {rule: Readable, run: "pair/b", change: func(_ *testing.T, h *History) {
			h.Events = append(h.Events, Event{Run: Run{"pair", "b"}, Sequence: 30, Kind: unreadable, Subject: "events.x.pair.b"})
		}},
		"a run that nothing stops has no model": {rule: Trains, run: "pair/b", pending: true, change: func(_ *testing.T, h *History) {
			h.intend()
			h.Intended.Trained = []Run{{"pair", "a"}, {"pair", "b"}}
		}},
		"a run fails without a reason": {rule: FailsMeant, run: "pair/d", change: func(_ *testing.T, h *History) {
			h.intend()
			delete(h.Intended.Failing, Run{"pair", "d"})
		}},
		"a run is cancelled without a request": {rule: FailsMeant, run: "pair/c", change: func(_ *testing.T, h *History) {
			h.intend()
			delete(h.Intended.Stopped, Run{"pair", "c"})
		}},
		"a search fails": {rule: FailsMeant, run: "pair/b", change: func(_ *testing.T, h *History) {
			h.intend()
			e := failed(30, "pair", "b", "b1")
			e.Kind, e.Source = tuningFailed, "/stoker/tune"
			h.Events = append(h.Events, e)
		}},
		"a dead letter of a job that was not to fail": {rule: DeadLettersMeant, run: "pair/c", change: func(_ *testing.T, h *History) {
			h.intend()
			h.DeadLetters = append(h.DeadLetters, DeadLetter{Stream: "JOBS", Sequence: 4, Subject: "jobs.train.cpu.other", Run: Run{"pair", "c"}})
		}},
		"a spoiled message that is no dead letter": {rule: DeadLettersMeant, pending: true, change: func(_ *testing.T, h *History) {
			h.intend()
			h.Spoiled = []string{"jobs.x"}
		}},
		"a spoiled message with two dead letters": {rule: DeadLettersMeant, pending: true, change: func(_ *testing.T, h *History) {
			h.intend()
			h.Spoiled = []string{"events.x"}
			for range 2 {
				h.DeadLetters = append(h.DeadLetters, DeadLetter{Stream: "EVENTS", Subject: "events.x"})
			}
		}},
		"a job is left": {rule: QueueEmpty, pending: true, change: func(_ *testing.T, h *History) {
			h.Jobs = append(h.Jobs, "jobs.train.cpu.x")
		}},
		"a lease is held": {rule: LeasesFree, pending: true, also: []Rule{QueueEmpty}, change: func(_ *testing.T, h *History) {
			h.Jobs = append(h.Jobs, "jobs.train.cpu.job-a")
			h.Leases["job-a"] = Lease{Holder: "z", Number: 1}
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := kept(t)
			test.change(t, &h)
			found := false
			for _, v := range h.Check() {
				at := ""
				if v.Run != (Run{}) {
					at = v.Run.String()
				}
				switch {
				case v.Rule == test.rule && at == test.run && v.Pending == test.pending:
					found = true
				case !slices.Contains(test.also, v.Rule):
					t.Errorf("reports besides: %s (pending: %t)", v, v.Pending)
				}
			}
			if !found {
				t.Errorf("doesn't report: %s", test.rule)
			}
		})
	}
}

// The result of the product's formula for the id of an end, computed by another program.
func TestTheIDOfAnEnd(t *testing.T) {
	t.Parallel()
	// printf '5:ended,7:penguin,1:r,' | sha256sum | cut -c1-32
	const want = "4de76c16961c8463ddda35dfdfd545fc"
	if got := endedID(Run{"penguin", "r"}); got != want {
		t.Errorf("got %s, expected %s", got, want)
	}
}

// A job that is repeated on request has another result.
func TestWhatWasAskedForAgainIsAnotherCause(t *testing.T) {
	t.Parallel()
	h := meant(t)
	retried, replayed := trained(30, "pair", "a", "a2", "y"), trained(31, "pair", "a", "a2", "z")
	retried.Data.Request, replayed.Data.Generation = "dead-1", 1
	h.Events = append(h.Events, retried, replayed)
	h.DeadLetters = []DeadLetter{{Stream: "JOBS", Sequence: 1, Subject: "jobs.train.cpu.job-d", Run: Run{"pair", "d"}}}
	for _, v := range h.Check() {
		t.Error(v)
	}
}

func TestSubjectsNameRuns(t *testing.T) {
	t.Parallel()
	for subject, want := range map[string]Run{
		"events.transform-ready.pair.a.t":       {"pair", "a"},
		"events.transform-ready.pair.run=201.t": {"pair", "run 1"},
		"events.transform-ready.pair.100=25.t":  {"pair", "100%"},
		"jobs.train":                            {},
	} {
		if got := runOf(subject); got != want {
			t.Errorf("%s: got %v, expected %v", subject, got, want)
		}
	}
}
