package tune_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

func config() tune.Config {
	return tune.Config{
		Space:      space.Space{{Name: "x", Kind: space.Float, Max: 1, Sampling: space.Linear, Default: 0.0}},
		Objectives: []tune.Objective{{Name: "loss", Direction: tune.Min}},
		Algorithm:  tune.Algorithm{Name: tune.Random},
		MaxTrials:  4, Parallel: 2,
	}
}

// log is a study that a test writes.
type log struct {
	*testing.T
	tune.Study
	clock time.Time
}

func begin(t *testing.T, c tune.Config) *log {
	t.Helper()
	l := &log{T: t, clock: time.Unix(0, 0).UTC()}
	l.append(tune.Entry{Begun: &tune.Begun{Config: c}})
	return l
}

func (l *log) append(e tune.Entry) {
	l.Helper()
	if err := l.try(e); err != nil {
		l.Fatal(err)
	}
}

func (l *log) try(e tune.Entry) error {
	l.clock = l.clock.Add(time.Second)
	e.Stored = l.clock
	return l.Apply(e)
}

func (l *log) refuses(e tune.Entry, want string) {
	l.Helper()
	before := l.Study
	if err := l.try(e); err == nil || !strings.Contains(err.Error(), want) {
		l.Errorf("%v, want %q", err, want)
	}
	if before.Entries != l.Entries || before.Last != l.Last {
		l.Error("a refused entry has left something")
	}
}

func by(job string) tune.Owner { return tune.Owner{Job: job, Attempt: "1"} }

func start(trial, job string) tune.Started {
	return tune.Started{Trial: trial, Suggestion: &tune.Suggestion{Values: space.Values{{Name: "x", Of: 0.5}}}, Owner: by(job)}
}

func again(trial, job string) tune.Started { return tune.Started{Trial: trial, Owner: by(job)} }

func started(all ...tune.Started) tune.Entry { return tune.Entry{Started: all} }

func completed(trial, job string, loss float64) *tune.Ended {
	return &tune.Ended{Trial: trial, Owner: by(job), Status: tune.Completed, Metrics: map[string]float64{"loss": loss}}
}

func failed(trial, job string) *tune.Ended {
	return &tune.Ended{Trial: trial, Owner: by(job), Status: tune.Failed, Message: "no luck"}
}

func TestAStudyIsWhatItsLogSays(t *testing.T) {
	t.Parallel()
	l := begin(t, config())
	l.append(started(start("0000", "a"), start("0001", "b")))
	if l.Free() != 0 || l.Remaining() != 2 || l.Of("b").ID != "0001" {
		t.Errorf("%d free, %d remaining", l.Free(), l.Remaining())
	}
	l.append(tune.Entry{Ended: completed("0001", "b", 2), Started: []tune.Started{start("0002", "b")}})
	l.append(tune.Entry{Ended: completed("0000", "a", 1), Started: []tune.Started{start("0003", "a")}})
	l.append(tune.Entry{Ended: completed("0003", "a", 1)})
	if l.Due(l.clock) != nil {
		t.Error("over, though a trial runs")
	}
	l.append(tune.Entry{Ended: completed("0002", "b", 3)})
	over := l.Due(l.clock)
	if over == nil || over.Why != tune.MaxTrials {
		t.Fatalf("due: %+v", over)
	}
	l.append(tune.Entry{Finished: over})
	var order []string
	for _, trial := range l.Best() {
		order = append(order, trial.ID)
	}
	if got := strings.Join(order, " "); got != "0000 0003 0001 0002" || !l.Settled() || len(l.Pareto()) != 1 {
		t.Errorf("best first: %s", got)
	}
}

func TestWhatContradictsTheLogIsRefused(t *testing.T) {
	t.Parallel()
	l := &log{T: t}
	l.refuses(started(start("0000", "a")), "first entry")
	l = begin(t, config())
	l.refuses(tune.Entry{Begun: &tune.Begun{Config: config()}}, "begun already")
	l.refuses(started(start("0001", "a")), "expected 0000")
	l.refuses(started(start("0000", "a"), start("0001", "a")), "job a works on trial 0000")
	l.refuses(started(start("0000", "a"), start("0001", "b"), start("0002", "c")), "2 run already")
	l.refuses(tune.Entry{Ended: completed("0000", "a", 1)}, "there is none")
	l.refuses(started(again("0000", "a")), "does not wait for another try")
	l.append(started(start("0000", "a")))
	l.refuses(started(again("0000", "b")), "does not wait for another try")
	l.refuses(tune.Entry{Taken: &tune.Taken{Trial: "0000", Owner: by("a")}}, "already")
	l.refuses(tune.Entry{Ended: completed("0000", "b", 1)}, "in the hands of job a")
	l.refuses(tune.Entry{Ended: &tune.Ended{Trial: "0000", Owner: by("a"), Status: tune.Completed}}, "metrics: loss: missing")
	l.refuses(tune.Entry{Ended: completed("0000", "a", math.NaN())}, "finite")
	l.refuses(tune.Entry{Ended: &tune.Ended{Trial: "0000", Owner: by("a"), Status: tune.Running}}, "status")
	child := start("0001", "b")
	child.Suggestion.Parent = "0000"
	l.refuses(started(child), "parent 0000")
	l.refuses(tune.Entry{Ended: completed("0000", "a", 1), Started: []tune.Started{start("0007", "a")}}, "expected 0001")
	l.append(tune.Entry{Taken: &tune.Taken{Trial: "0000", Owner: tune.Owner{Job: "a", Attempt: "2"}}})
	// The late entry of a lost attempt.
	l.refuses(tune.Entry{Ended: completed("0000", "a", 1)}, "attempt 2, not of job a, attempt 1")
	l.append(tune.Entry{Finished: &tune.Finished{Why: tune.Stopped}})
	l.refuses(tune.Entry{Finished: &tune.Finished{Why: tune.Cancelled}}, "finished already")
	l.refuses(started(start("0001", "b")), "is finished")
	ended := completed("0000", "a", 1)
	ended.Owner.Attempt = "2"
	l.append(tune.Entry{Ended: ended})
	l.refuses(tune.Entry{Ended: ended}, "does not run")
}

func TestACopyOfAStudyIsAStudyOfItsOwn(t *testing.T) {
	t.Parallel()
	l := begin(t, config())
	l.append(started(start("0000", "a")))
	kept, trial := l.Study, l.Trials[0]
	l.append(tune.Entry{Ended: completed("0000", "a", 1), Started: []tune.Started{start("0001", "a")}})
	if len(kept.Trials) != 1 || kept.Trials[0].Status != tune.Running || trial.Status != tune.Running || l.Trials[0].Status != tune.Completed {
		t.Error("the copy has changed")
	}
}

func TestAFailedTrialIsTriedAgainAsIfNothingHadBeen(t *testing.T) {
	t.Parallel()
	c := config()
	c.Retries, c.MaxFailures = 1, 1
	l := begin(t, c)
	l.append(started(start("0000", "a"), start("0001", "b")))
	first := failed("0000", "a")
	first.Curves = map[string][]tune.Point{"loss": {{Step: 1, Value: -9}}}
	l.append(tune.Entry{Ended: first})
	l.append(tune.Entry{Ended: failed("0001", "b"), Started: []tune.Started{again(l.Retry().ID, "b")}})
	if trial := l.Of("b"); trial.ID != "0000" || trial.Tries != 2 || trial.Curves != nil || l.Retry().ID != "0001" {
		t.Errorf("tried again: %+v, then %s", trial, l.Retry().ID)
	}
	nobodys := failed("0000", "b")
	nobodys.Status = tune.Invalid
	l.append(tune.Entry{Ended: nobodys})
	l.append(started(again("0000", "b")))
	if l.Trials[0].Tries != 2 || l.Due(l.clock) != nil {
		t.Errorf("%d tries, due %+v", l.Trials[0].Tries, l.Due(l.clock))
	}
	l.append(tune.Entry{Ended: failed("0000", "b")})
	if over := l.Due(l.clock); l.Trials[0].Status != tune.Failed || over == nil || over.Why != tune.Failing || !strings.Contains(over.Message, "no luck") {
		t.Errorf("trial %+v, due %+v", l.Trials[0], over)
	}
	l.append(tune.Entry{Finished: l.Due(l.clock)})
	more := config()
	more.MaxTrials, more.Seed = 9, 7
	l.append(tune.Entry{Begun: &tune.Begun{Config: more, Request: "again"}})
	if l.Due(l.clock) != nil || l.Config.MaxTrials != 9 || l.Config.Seed != 0 || l.Retry().ID != "0001" {
		t.Errorf("asked for again: %+v", l.Config)
	}
}

func TestAStudyEndsWhereItsBudgetDoes(t *testing.T) {
	t.Parallel()
	goal := 0.5
	for why, change := range map[tune.Why]func(*tune.Config){
		tune.GoalReached: func(c *tune.Config) { c.Goal = &goal },
		tune.NoBetter:    func(c *tune.Config) { c.Patience = 1 },
		tune.OutOfTime:   func(c *tune.Config) { c.MaxTime = 4 * time.Second },
		tune.Failing:     func(c *tune.Config) { c.MaxFailures = 1 },
	} {
		c := config()
		change(&c)
		l := begin(t, c)
		l.append(started(start("0000", "a"), start("0001", "b")))
		if over := l.Due(l.clock); over != nil {
			t.Fatalf("%s: over at once: %+v", why, over)
		}
		switch why {
		case tune.Failing:
			l.append(tune.Entry{Ended: failed("0000", "a")})
		case tune.GoalReached:
			l.append(tune.Entry{Ended: completed("0000", "a", 0.5)})
		default:
			l.append(tune.Entry{Ended: completed("0000", "a", 2)})
			l.append(tune.Entry{Ended: completed("0001", "b", 2)})
		}
		if over := l.Due(l.clock.Add(time.Second)); over == nil || over.Why != why {
			t.Errorf("%s: %+v", why, over)
		}
	}
}

func TestOfSeveralObjectivesTheBestIsASet(t *testing.T) {
	t.Parallel()
	c := config()
	limit := 5.0
	c.Objectives = append(c.Objectives, tune.Objective{Name: "accuracy", Direction: tune.Max})
	c.Constraints = []tune.Constraint{{Name: "size", Max: &limit}}
	c.MaxTrials, c.Parallel = 9, 9
	l := begin(t, c)
	for i, m := range [][3]float64{{1, 0.5, 1}, {2, 0.9, 1}, {3, 0.4, 1}, {0, 1, 9}, {1, 0.5, 5}} {
		id := l.NextID()
		l.append(started(start(id, "a")))
		l.append(tune.Entry{Ended: &tune.Ended{Trial: id, Owner: by("a"), Status: tune.Completed,
			Metrics: map[string]float64{"loss": m[0], "accuracy": m[1], "size": m[2]}}})
		if i == 3 && l.Feasible(l.Trials[3]) {
			t.Error("too large, and feasible")
		}
	}
	var ids []string
	for _, trial := range append(l.Pareto(), l.Best()...) {
		ids = append(ids, trial.ID)
	}
	if got := strings.Join(ids, " "); got != "0000 0004 0001 0000 0004 0001 0002" {
		t.Errorf("Pareto set, then all: %s", got)
	}
}

func TestAScoreIsTheBestOverTheSteps(t *testing.T) {
	t.Parallel()
	c := config()
	c.Objectives[0] = tune.Objective{Name: "accuracy", Direction: tune.Max}
	l := begin(t, c)
	curve := []tune.Point{{Step: 1, Value: math.NaN()}, {Step: 2, Value: 0.8}, {Step: 3, Value: 0.8}, {Step: 4, Value: 0.7}}
	trial := &tune.Trial{Metrics: map[string]float64{"accuracy": 0.7}}
	if score, there := l.Score(trial); !there || score != 0.7 {
		t.Errorf("without a curve: %v", score)
	}
	trial.Curves = map[string][]tune.Point{"accuracy": curve}
	if score, there := l.Score(trial); !there || score != 0.8 {
		t.Errorf("with one: %v", score)
	}
	if p, _ := l.Config.Objectives[0].Best(curve); p.Step != 2 {
		t.Errorf("at step %d", p.Step)
	}
	if _, there := l.Score(&tune.Trial{}); there {
		t.Error("a score from nothing")
	}
}

// TestATrialNamesItsNewestOwner reads the owner of a trial while it runs, and its newest owner
// after it was taken over, after it has ended and after a retry.
func TestATrialNamesItsNewestOwner(t *testing.T) {
	t.Parallel()
	c := config()
	c.Retries = 1
	l := begin(t, c)
	check := func(owner, newest tune.Owner) {
		t.Helper()
		if trial := l.Trials[0]; trial.Owner != owner || trial.By != newest {
			t.Errorf("owner %v, newest %v; want %v, %v", trial.Owner, trial.By, owner, newest)
		}
	}
	l.append(started(start("0000", "a")))
	check(by("a"), by("a"))
	l.append(tune.Entry{Taken: &tune.Taken{Trial: "0000", Owner: by("b")}})
	check(by("b"), by("b"))
	l.append(tune.Entry{Ended: failed("0000", "b")})
	check(tune.Owner{}, by("b"))
	l.append(started(again("0000", "c")))
	l.append(tune.Entry{Ended: completed("0000", "c", 1)})
	check(tune.Owner{}, by("c"))
}
