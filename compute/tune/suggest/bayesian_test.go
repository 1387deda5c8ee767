package suggest_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/compute/tune/suggest"
)

var byModel = tune.Algorithm{Name: tune.Bayesian}

// TestBayesianTriesNothingTwice covers keras-tuner#608 and #237: twelve trials of three values were
// 1, 3, 2, 2, 1, 1, ... and never ended.
func TestBayesianTriesNothingTwice(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []tune.Algorithm{byModel, {Name: tune.Bayesian, InitialPoints: 1}} {
		c := config(algorithm, space.Parameter{Name: "n", Kind: space.Int, Min: 1, Max: 3, Sampling: space.Linear})
		c.MaxTrials = 12
		l := begin(t, c)
		l.search(func(trial *tune.Trial) float64 { return float(trial.Values, "n") })
		if n := len(l.study.Trials); n != 3 {
			t.Errorf("%d trials of 3 values", n)
		}
	}
}

func TestBayesianFindsTheLargestOfWhatIsMadeLarge(t *testing.T) {
	t.Parallel()
	for _, acquisition := range []string{"logei", "ucb"} {
		c := config(tune.Algorithm{Name: tune.Bayesian, Acquisition: acquisition}, unit("a"), unit("b"))
		c.MaxTrials, c.Objectives[0].Direction = 30, tune.Max
		l := begin(t, c)
		l.search(func(trial *tune.Trial) float64 {
			return 1 - math.Abs(float(trial.Values, "a")-0.7) - math.Pow(float(trial.Values, "b")-0.2, 2)
		})
		if score, _ := l.study.Score(l.study.Best()[0]); score < 0.97 {
			t.Errorf("%s: the best of 30 trials is %v, there is 1", acquisition, score)
		}
	}
}

// TestBayesianNeedsNothingButTheLog asks again for earlier suggestions, with studies that are made
// from the log's bytes.
func TestBayesianNeedsNothingButTheLog(t *testing.T) {
	t.Parallel()
	c := config(byModel, unit("a"), space.Parameter{Name: "o", Kind: space.Choice, Choices: []any{"x", "y", "z"}})
	c.Parallel, c.Seed, c.MaxTrials = 3, 42, 30
	l := begin(t, c)
	log := []tune.Entry{{Begun: &tune.Begun{Config: c}}}
	var running []*tune.Trial
	for i := range 25 {
		if len(running) == 3 { // the newest ends first, and every fifth trial fails
			trial := running[2]
			running = running[:2]
			ended := tune.Ended{Trial: trial.ID, Owner: trial.Owner, Status: tune.Completed,
				Metrics: map[string]float64{"loss": math.Abs(float(trial.Values, "a") - 0.4)}}
			if i%5 == 0 {
				ended.Status = tune.Failed
			}
			log = append(log, tune.Entry{Ended: &ended})
			l.apply(log[len(log)-1])
		}
		again := replay(t, log)
		suggestion, _, err := suggest.Next(&again)
		if err != nil {
			t.Fatal(err)
		}
		trial, _ := l.start(fmt.Sprint("worker ", i))
		if difference := cmp.Diff(suggestion, trial.Suggestion); difference != "" {
			t.Fatalf("trial %d, by the log's bytes and by what was there:\n%s", i, difference)
		}
		running = append(running, trial)
		log = append(log, tune.Entry{Started: []tune.Started{{Trial: trial.ID, Owner: trial.Owner, Suggestion: &trial.Suggestion}}})
	}
}

// replay returns a study made from the bytes of entries.
func replay(t *testing.T, log []tune.Entry) tune.Study {
	t.Helper()
	l := &lab{TB: t}
	for _, entry := range log {
		body, err := entry.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		read, err := tune.ParseEntry(body)
		if err != nil {
			t.Fatal(err)
		}
		l.apply(read)
	}
	return l.study
}

// TestAStudyGoesOnWhereAnEarlierOneEnded uses the seed of the earlier study, whose first values are
// therefore known.
func TestAStudyGoesOnWhereAnEarlierOneEnded(t *testing.T) {
	t.Parallel()
	for _, name := range []string{tune.Bayesian, tune.Random, tune.TPE} {
		c := config(tune.Algorithm{Name: name}, unit("a"), unit("b"))
		c.MaxTrials = 4
		older := begin(t, c)
		older.search(func(trial *tune.Trial) float64 { return float(trial.Values, "a") })
		known := map[string]bool{}
		for _, trial := range older.study.Trials {
			known[trial.Values.Key()] = true
			c.Earlier = append(c.Earlier, tune.Earlier{Values: trial.Values, Metrics: trial.Metrics})
		}
		newer := begin(t, c)
		newer.search(func(trial *tune.Trial) float64 { return float(trial.Values, "a") })
		for _, trial := range newer.study.Trials {
			if known[trial.Values.Key()] {
				t.Errorf("%s: trial %s has the values of an earlier study's", name, trial.ID)
			}
		}
	}
}

func TestBayesianLearnsFromAnEarlierStudy(t *testing.T) {
	t.Parallel()
	c := config(byModel, unit("a"))
	for i := range 12 {
		a := float64(i) / 11
		c.Earlier = append(c.Earlier, tune.Earlier{Values: space.Values{{Name: "a", Of: a}},
			Metrics: map[string]float64{"loss": math.Pow(a-0.63, 2)}})
		c.Earlier = append(c.Earlier, tune.Earlier{Values: space.Values{{Name: "a", Of: a}}, Metrics: map[string]float64{"other": 7}})
	}
	trial, _ := begin(t, c).start("worker")
	if a := float(trial.Values, "a"); math.Abs(a-0.63) > 0.05 {
		t.Errorf("the first trial is at %v, an earlier study's lead to 0.63", a)
	}
}

// TestBayesianFindsTheFrontOfTwoObjectives: a² and (1-a)² are Pareto optimal for every a between 0
// and 1 if b is 0. The best trials should be spread along that line.
func TestBayesianFindsTheFrontOfTwoObjectives(t *testing.T) {
	t.Parallel()
	c := config(byModel, unit("a"), unit("b"))
	c.MaxTrials = 40
	c.Objectives = append(c.Objectives, tune.Objective{Name: "size", Direction: tune.Max})
	l := begin(t, c)
	for range 40 {
		trial, _ := l.start("worker")
		a, b := float(trial.Values, "a"), float(trial.Values, "b")
		l.apply(tune.Entry{Ended: &tune.Ended{Trial: trial.ID, Owner: trial.Owner, Status: tune.Completed,
			Metrics: map[string]float64{"loss": a*a + b, "size": -(1-a)*(1-a) - b}}})
	}
	var parts [4]int // trials of the front, by a
	for _, trial := range l.study.Pareto() {
		if float(trial.Values, "b") < 0.02 {
			parts[min(int(4*float(trial.Values, "a")), 3)]++
		}
	}
	for i, n := range parts {
		if n == 0 {
			t.Errorf("no trial on part %d of the front: %v", i, parts)
		}
	}
}

func TestBayesianKeepsToConstraints(t *testing.T) {
	t.Parallel()
	c := config(byModel, unit("a"), unit("b"))
	limit, least := 0.5, 0.2
	c.MaxTrials = 35
	c.Constraints = []tune.Constraint{{Name: "latency", Max: &limit}, {Name: "recall", Min: &least}}
	l := begin(t, c)
	for range 35 {
		trial, _ := l.start("worker")
		a, b := float(trial.Values, "a"), float(trial.Values, "b")
		metrics := map[string]float64{"loss": b - a, "latency": a, "recall": b}
		if len(l.study.Trials)%7 == 0 {
			delete(metrics, "recall") // as after an evaluation that was interrupted
		}
		l.apply(tune.Entry{Ended: &tune.Ended{Trial: trial.ID, Owner: trial.Owner, Status: tune.Completed, Metrics: metrics}})
	}
	if score, _ := l.study.Score(l.study.Best()[0]); score > -0.28 {
		t.Errorf("best is %v, the constraints allow -0.3", score)
	}
}
