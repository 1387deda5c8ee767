package plan_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/plan"
)

const tunes = "pipeline: penguin\nmodule: ./m.py\ntrainer: {expire_after: 2h}\ntuner: {when: always}\n"

func rawExamples() events.Data {
	return &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://bkt/raw"}}}
}

func TestWhenATuningIsDue(t *testing.T) {
	t.Parallel()
	const both = "pipeline: penguin\nmodule: ./m.py\ntrainer: {wait_for: [examples, transform, hparams]}\ntuner: {when: always}\n"
	for name, tc := range map[string]struct {
		text  string
		facts []plan.Pinned
		at    uint64 // sequence of the fact by which it is due; 0: it is not
	}{
		"no data yet":                  {tunes, nil, 0},
		"the transform":                {tunes, []plan.Pinned{at(1, "e", rawExamples()), at(2, "t", graph()), at(3, "u", graph())}, 2},
		"one of two":                   {both, []plan.Pinned{at(1, "t", graph())}, 0},
		"both":                         {both, []plan.Pinned{at(1, "t", graph()), at(4, "e", rawExamples())}, 4},
		"hyperparameters were told":    {tunes, []plan.Pinned{at(1, "h", tuned()), at(2, "t", graph())}, 0},
		"a failure was told":           {tunes, []plan.Pinned{at(1, "f", untuned()), at(2, "t", graph())}, 0},
		"hyperparameters are told now": {tunes, []plan.Pinned{at(1, "t", graph()), at(2, "h", tuned())}, 1},
		"a pipeline that never tunes":  {head + "tuner: {when: never}\n", []plan.Pinned{at(1, "t", graph())}, 0},
		"a pipeline without a tuner":   {head + "trainer: {hyperparameters: run}\n", []plan.Pinned{at(1, "t", graph())}, 0},
		"longer than a run may wait":   {tunes, []plan.Pinned{at(1, "t", graph()), at(100, "h", tuned())}, 1},
	} {
		join := plan.Decide(parse(t, tc.text), "monday", tc.facts)
		got := uint64(0)
		if join.Tuning != nil {
			got = join.Tuning.Sequence
		}
		if got != tc.at || join.TuningDue() != (tc.at > 0) || tc.at > 0 && join.State != plan.Waiting {
			t.Errorf("%s: due at %d, want %d, %s", name, got, tc.at, join.State)
		}
	}
}

func TestATuningThatIsPinnedStays(t *testing.T) {
	t.Parallel()
	p := parse(t, tunes)
	join := plan.Decide(p, "monday", []plan.Pinned{at(2, "t", graph())}).PinTuning(7, plan.Latest{})
	first, err := join.Tune(p, plan.Again{})
	if err != nil || first.Function != events.FunctionTune || first.Revision != 7 || first.Inputs.TransformGraph != "s3://bkt/graph" {
		t.Fatalf("%+v, %v", first, err)
	}
	never := parse(t, head+"tuner: {when: never}\n")
	later := join.Decide(never, []plan.Pinned{at(2, "t", graph()), at(3, "e", rawExamples())})
	if later.TuningDue() || later.Tuning == nil {
		t.Fatalf("%+v", later.Tuning)
	}
	if _, skipped := later.Skipped(never); skipped {
		t.Error("a tuning that goes on is skipped")
	}
	if _, bounded := later.Deadline(p); bounded {
		t.Error("a run that is tuned expires")
	}
	again, err := later.Add(at(4, "h", tuned())).Tune(p, plan.Again{})
	if err != nil || again.ID != first.ID || len(again.Causes) != 1 {
		t.Errorf("%s of %v, %v; it was %s", again.ID, again.Causes, err, first.ID)
	}
	for _, other := range []plan.Again{{Generation: 1}, {Salt: "x"}} {
		if job, err := join.Tune(p, other); err != nil || job.ID == first.ID {
			t.Errorf("%+v: the same job, %v", other, err)
		}
	}
}

func TestAFactWithForceIsSearchedForAnew(t *testing.T) {
	t.Parallel()
	p := parse(t, tunes)
	force := at(2, "t", &events.TransformReady{TransformGraph: "s3://bkt/graph", Request: events.Request{Force: true}})
	job, err := plan.Decide(p, "monday", []plan.Pinned{force}).PinTuning(1, plan.Latest{}).Tune(p, plan.Again{})
	if err != nil || job.Salt == "" {
		t.Errorf("salt %q, %v", job.Salt, err)
	}
}

func TestARunThatIsNotTunedHasNoTuneJob(t *testing.T) {
	t.Parallel()
	p := parse(t, tunes)
	due := plan.Decide(p, "monday", []plan.Pinned{at(2, "t", graph())})
	for name, join := range map[string]plan.Join{"new": plan.New("penguin", "monday"), "due": due, "not any more": due.PinTuning(1, plan.Latest{}).Untuned()} {
		if _, err := join.Tune(p, plan.Again{}); err == nil {
			t.Errorf("%s: it has one", name)
		}
	}
	if _, err := due.PinTuning(1, plan.Latest{}).Tune(parse(t, head), plan.Again{}); err == nil {
		t.Error("a pipeline without a tuner tunes")
	}
}

func TestWhoToldARunsHyperparameters(t *testing.T) {
	t.Parallel()
	reused, nothing := events.SkippedIDs("penguin", "monday")
	of := func(source, id string, data events.Data) plan.Join {
		fact := at(3, id, data)
		fact.Source = source
		return plan.New("penguin", "monday").Add(at(1, "t", graph())).Add(fact)
	}
	tune := events.Source(events.FunctionTune)
	for name, tc := range map[string]struct {
		join plan.Join
		want bool
	}{
		"our search":       {of(tune, "x", tuned()), true},
		"its failure":      {of(tune, "x", untuned()), true},
		"someone else":     {of("/test", "x", tuned()), false},
		"a skipped search": {of(tune, reused, tuned()), false},
		"nothing to reuse": {of(tune, nothing, untuned()), false},
	} {
		if got := tc.join.TunedByUs(); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestWhatIsNoTuningIsTold(t *testing.T) {
	t.Parallel()
	due := plan.Decide(parse(t, tunes), "monday", []plan.Pinned{at(2, "t", graph())})
	whole := due.PinTuning(1, plan.Latest{}).DispatchTuning("0123abcd")
	if err := whole.Check("penguin", "monday"); err != nil {
		t.Error(err)
	}
	early := whole.DispatchTuning("0123abcd")
	early.Tuning.Sequence = 1
	for field, join := range map[string]plan.Join{
		"tuning.revision": due, "tuning.job": whole.DispatchTuning("no such id/"), "tuning.sequence": early,
	} {
		err := join.Check("penguin", "monday")
		if invalid, ok := errors.AsType[*events.Invalid](err); !ok || invalid.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	large := due.PinTuning(1, plan.Latest{Hyperparameters: "s3://bkt/h", Spans: slices.Repeat([]events.Examples{{URI: "s3://bkt/x"}}, 9)}).TooLarge("too large", time.Unix(1, 0))
	if len(large.Tuning.Spans) != 0 || large.Check("penguin", "monday") != nil {
		t.Errorf("%+v", large.Tuning)
	}
}
