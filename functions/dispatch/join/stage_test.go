package join_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

const tunes = "pipeline: penguin\nmodule: ./m.py\ntrainer: {expire_after: 2h}\ntuner: {when: always}\n"

func rawExamples() events.Data {
	return &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://bkt/raw"}}}
}

func TestWhenATuningIsDue(t *testing.T) {
	t.Parallel()
	const both = "pipeline: penguin\nmodule: ./m.py\ntrainer: {wait_for: [examples, transform, hparams]}\ntuner: {when: always}\n"
	for name, tc := range map[string]struct {
		text   string
		events []join.Event
		at     uint64 // sequence of the event that makes it due; 0: it is not due
	}{
		"no data yet":                 {tunes, nil, 0},
		"the transform":               {tunes, []join.Event{at(1, "e", rawExamples()), at(2, "t", graph()), at(3, "u", graph())}, 2},
		"one of two":                  {both, []join.Event{at(1, "t", graph())}, 0},
		"both":                        {both, []join.Event{at(1, "t", graph()), at(4, "e", rawExamples())}, 4},
		"hyperparameters came before": {tunes, []join.Event{at(1, "h", tuned()), at(2, "t", graph())}, 0},
		"a failure came before":       {tunes, []join.Event{at(1, "f", untuned()), at(2, "t", graph())}, 0},
		"hyperparameters come now":    {tunes, []join.Event{at(1, "t", graph()), at(2, "h", tuned())}, 1},
		"a pipeline that never tunes": {head + "tuner: {when: never}\n", []join.Event{at(1, "t", graph())}, 0},
		"a pipeline without a tuner":  {head + "trainer: {hyperparameters: run}\n", []join.Event{at(1, "t", graph())}, 0},
		"longer than a run may wait":  {tunes, []join.Event{at(1, "t", graph()), at(100, "h", tuned())}, 1},
	} {
		j := join.Decide(parse(t, tc.text), "monday", tc.events)
		got := uint64(0)
		if search := j.Stage(events.FunctionTune); search.Exists() {
			got = search.Through
		}
		if got != tc.at || j.SearchDue() != (tc.at > 0) || tc.at > 0 && j.State != join.Waiting {
			t.Errorf("%s: due at %d, want %d, %s", name, got, tc.at, j.State)
		}
	}
}

func TestATuningThatIsPinnedStays(t *testing.T) {
	t.Parallel()
	p := parse(t, tunes)
	j := join.Decide(p, "monday", []join.Event{at(2, "t", graph())}).Pin(p, 7, join.Latest{})
	first, err := j.Job(p, events.FunctionTune, join.Retry{})
	if err != nil || first.Function != events.FunctionTune || first.Revision != 7 || first.Inputs.TransformGraph != "s3://bkt/graph" {
		t.Fatalf("%+v, %v", first, err)
	}
	never := parse(t, head+"tuner: {when: never}\n")
	later := j.Decide(never, []join.Event{at(2, "t", graph()), at(3, "e", rawExamples())})
	if later.SearchDue() || !later.Stage(events.FunctionTune).Exists() {
		t.Fatalf("%+v", later.Stages)
	}
	if _, skipped := later.Skipped(never); skipped {
		t.Error("a tuning that goes on is skipped")
	}
	if _, bounded := later.Deadline(p); bounded {
		t.Error("a run that is tuned expires")
	}
	again, err := later.Add(at(4, "h", tuned())).Job(p, events.FunctionTune, join.Retry{})
	if err != nil || again.ID != first.ID || len(again.Causes) != 1 {
		t.Errorf("%s of %v, %v; it was %s", again.ID, again.Causes, err, first.ID)
	}
	for _, other := range []join.Retry{{Generation: 1}, {Salt: "x"}} {
		if job, err := j.Job(p, events.FunctionTune, other); err != nil || job.ID == first.ID {
			t.Errorf("%+v: the same job, %v", other, err)
		}
	}
}

func TestAnEventWithForceMakesANewSearch(t *testing.T) {
	t.Parallel()
	p := parse(t, tunes)
	force := at(2, "t", &events.TransformReady{TransformGraph: "s3://bkt/graph", Request: events.Request{Force: true}})
	job, err := join.Decide(p, "monday", []join.Event{force}).Pin(p, 1, join.Latest{}).Job(p, events.FunctionTune, join.Retry{})
	if err != nil || job.Salt == "" {
		t.Errorf("salt %q, %v", job.Salt, err)
	}
}

func TestARunThatIsNotTunedHasNoTuneJob(t *testing.T) {
	t.Parallel()
	p := parse(t, tunes)
	due := join.Decide(p, "monday", []join.Event{at(2, "t", graph())})
	for name, j := range map[string]join.Join{"new": join.New("penguin", "monday"), "due": due, "not any more": due.Pin(p, 1, join.Latest{}).WithoutSearch()} {
		if _, err := j.Job(p, events.FunctionTune, join.Retry{}); err == nil {
			t.Errorf("%s: it has one", name)
		}
	}
	if _, err := due.Pin(p, 1, join.Latest{}).Job(parse(t, head), events.FunctionTune, join.Retry{}); err == nil {
		t.Error("a pipeline without a tuner tunes")
	}
}

func TestSearchAnnouncedIsTrueForTheRunsOwnSearchAlone(t *testing.T) {
	t.Parallel()
	reused, nothing := events.SkippedIDs("penguin", "monday")
	of := func(source, id string, data events.Data) join.Join {
		event := at(3, id, data)
		event.Source = source
		return join.New("penguin", "monday").Add(at(1, "t", graph())).Add(event)
	}
	tune := events.Source(events.FunctionTune)
	for name, tc := range map[string]struct {
		join join.Join
		want bool
	}{
		"our search":       {of(tune, "x", tuned()), true},
		"its failure":      {of(tune, "x", untuned()), true},
		"someone else":     {of("/test", "x", tuned()), false},
		"a skipped search": {of(tune, reused, tuned()), false},
		"nothing to reuse": {of(tune, nothing, untuned()), false},
	} {
		if got := tc.join.SearchAnnounced(); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestCheckNamesWhatIsWrongWithATuneStage(t *testing.T) {
	t.Parallel()
	p := parse(t, tunes)
	due := join.Decide(p, "monday", []join.Event{at(2, "t", graph())})
	whole := due.Pin(p, 1, join.Latest{}).Dispatch(events.FunctionTune, "0123abcd", join.Retry{})
	if err := whole.Check("penguin", "monday"); err != nil {
		t.Error(err)
	}
	early := changed(whole, func(s *join.Stage) { s.Through = 1 })
	for field, j := range map[string]join.Join{
		"tune.revision": due, "tune.job": whole.Dispatch(events.FunctionTune, "no such id/", join.Retry{}), "tune.through": early,
	} {
		err := j.Check("penguin", "monday")
		if invalid, ok := errors.AsType[*events.Invalid](err); !ok || invalid.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	large := due.Pin(p, 1, join.Latest{Hyperparameters: "s3://bkt/h", Spans: slices.Repeat([]events.Examples{{URI: "s3://bkt/x"}}, 9)}).TooLarge("too large", time.Unix(1, 0))
	if len(large.Stage(events.FunctionTune).Latest.Spans) != 0 || large.Check("penguin", "monday") != nil {
		t.Errorf("%+v", large.Stages)
	}
}
