package search

import (
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

var me, other = tune.Owner{Job: "a", Attempt: "2"}, tune.Owner{Job: "b", Attempt: "1"}

func studied(t *testing.T, trials, parallel int, entries ...tune.Entry) (s tune.Study) {
	t.Helper()
	begun := tune.Entry{Begun: &tune.Begun{Config: tune.Config{
		Space:      space.Space{{Name: "x", Kind: space.Float, Max: 1, Sampling: space.Linear, Default: 0.0}},
		Objectives: []tune.Objective{{Name: "loss", Direction: tune.Min}},
		Algorithm:  tune.Algorithm{Name: tune.Random}, MaxTrials: trials, Parallel: parallel, Retries: 1,
	}}}
	for _, e := range append([]tune.Entry{begun}, entries...) {
		if err := s.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func startedBy(owner tune.Owner, trial string) tune.Entry {
	return tune.Entry{Started: []tune.Started{{Trial: trial, Owner: owner, Suggestion: &tune.Suggestion{Values: space.Values{{Name: "x", Of: 0.5}}}}}}
}

func endedBy(owner tune.Owner, trial string, status tune.Status) *tune.Ended {
	return &tune.Ended{Trial: trial, Owner: owner, Status: status, Metrics: map[string]float64{"loss": 1}}
}

// words returns an entry's content without values.
func words(e tune.Entry) string {
	var all []string
	if e.Taken != nil {
		all = append(all, "taken "+e.Taken.Trial)
	}
	if e.Ended != nil {
		all = append(all, "ended "+e.Ended.Trial)
	}
	for _, s := range e.Started {
		all = append(all, map[bool]string{true: "began ", false: "again "}[s.Suggestion != nil]+s.Trial)
	}
	if e.Finished != nil {
		all = append(all, "finished "+string(e.Finished.Why))
	}
	return strings.Join(all, ", ")
}

func TestWhatASeatWritesNext(t *testing.T) {
	t.Parallel()
	before := tune.Owner{Job: me.Job, Attempt: "1"}
	mine, theirs := startedBy(me, "0000"), startedBy(other, "0000")
	for name, c := range map[string]struct {
		study tune.Study
		ended *tune.Ended
		want  string
	}{
		"a new trial":               {studied(t, 2, 2), nil, "began 0000"},
		"how it ended and the next": {studied(t, 2, 2, mine), endedBy(me, "0000", tune.Completed), "ended 0000, began 0001"},
		"the end":                   {studied(t, 1, 2, mine), endedBy(me, "0000", tune.Completed), "ended 0000, finished max_trials"},
		"its own trial again":       {studied(t, 2, 2, mine), endedBy(me, "0000", tune.Failed), "ended 0000, again 0000"},
		"another's trial again":     {studied(t, 1, 2, theirs, tune.Entry{Ended: endedBy(other, "0000", tune.Failed)}), nil, "again 0000"},
		"what it lost with its life": {studied(t, 2, 2, startedBy(before, "0000")), nil,
			"taken 0000"},
		"nothing: it is written already, and the answer was lost": {studied(t, 2, 2, mine,
			tune.Entry{Ended: endedBy(me, "0000", tune.Completed), Started: startedBy(me, "0001").Started}), endedBy(me, "0000", tune.Completed), ""},
		"not its late word, but a new trial": {studied(t, 3, 2, mine, tune.Entry{Taken: &tune.Taken{Trial: "0000", Owner: other}}),
			endedBy(me, "0000", tune.Completed), "began 0001"},
		"nothing: all places are taken": {studied(t, 2, 1, theirs), nil, ""},
		"nothing: others are at the last": {studied(t, 1, 2, theirs), nil,
			""},
		"only how it ended: the study is over": {studied(t, 2, 2, mine, tune.Entry{Finished: &tune.Finished{Why: tune.Stopped}}),
			endedBy(me, "0000", tune.Completed), "ended 0000"},
	} {
		got, err := Plan(c.study, me, c.ended, time.Time{})
		if err != nil || words(got) != c.want {
			t.Errorf("%s: %q, %v, want %q", name, words(got), err, c.want)
		}
		if got.Empty() {
			continue
		}
		if err := c.study.Apply(got); err != nil {
			t.Errorf("%s: its own entry is refused: %v", name, err)
		}
	}
}

func TestStepsAreAShareOfTheLongest(t *testing.T) {
	t.Parallel()
	hundred, one := 100, 1
	for _, c := range []struct {
		all             *int
		epochs, longest int
		want            int
	}{{&hundred, 0, 0, 100}, {&hundred, 9, 9, 100}, {&hundred, 1, 9, 11}, {&hundred, 3, 9, 33}, {&one, 1, 81, 1}} {
		if got := steps(c.all, c.epochs, c.longest); *got != c.want {
			t.Errorf("%d of %d epochs of %d steps: %d, want %d", c.epochs, c.longest, *c.all, *got, c.want)
		}
	}
	if steps(nil, 1, 9) != nil {
		t.Error("steps of a trial that has no end")
	}
}

func TestALongCurveIsThinnedAndKeepsItsBest(t *testing.T) {
	t.Parallel()
	objectives := []tune.Objective{{Name: "loss", Direction: tune.Min}}
	c := Curves{}
	for step := 1; step <= 5000; step++ {
		c.Add(objectives, step, map[string]float64{"loss": float64((step - 1234) * (step - 1234)), "other": 1})
	}
	thin := c.thinned(objectives)["loss"]
	best, _ := objectives[0].Best(thin)
	if len(thin) > tune.MaxPoints+2 || len(thin) < tune.MaxPoints || thin[0].Step != 1 || thin[len(thin)-1].Step != 5000 || best.Step != 1234 || len(c) != 1 {
		t.Errorf("%d points from %d to %d, best at %d", len(thin), thin[0].Step, thin[len(thin)-1].Step, best.Step)
	}
}
