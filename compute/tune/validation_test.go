package tune_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// folded returns a study of the accuracy over 4 folds.
func folded(algorithm string) tune.Config {
	return tune.Config{
		Space:      space.Space{{Name: "x", Kind: space.Float, Max: 1, Sampling: space.Linear}},
		Objectives: []tune.Objective{{Name: "accuracy", Direction: tune.Max}},
		Algorithm:  tune.Algorithm{Name: algorithm}, Validation: tune.Validation{Folds: 4}, Parallel: 9, MaxTrials: 9,
	}
}

// judgedBy begins a study and ends a trial for each of the curves of running means.
func judgedBy(t *testing.T, c tune.Config, curves ...[]float64) *tune.Study {
	t.Helper()
	s := &tune.Study{}
	enter := func(e tune.Entry) {
		if err := s.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	enter(tune.Entry{Begun: &tune.Begun{Config: c}})
	for _, means := range curves {
		owner := tune.Owner{Job: s.NextID(), Attempt: "1"}
		id := s.NextID()
		enter(tune.Entry{Started: []tune.Started{{Trial: id, Suggestion: &tune.Suggestion{}, Owner: owner}}})
		var curve []tune.Point
		for i, mean := range means {
			curve = append(curve, tune.Point{Step: i + 1, Value: mean})
		}
		last := means[len(means)-1]
		enter(tune.Entry{Ended: &tune.Ended{Trial: id, Owner: owner, Status: tune.Completed, Step: len(means),
			Curves: map[string][]tune.Point{"accuracy": curve}, Metrics: map[string]float64{"accuracy": last}}})
	}
	return s
}

func idsOf(trials []*tune.Trial) (ids []string) {
	for _, t := range trials {
		ids = append(ids, t.ID)
	}
	return ids
}

// A lucky first fold, or a trial of few folds, does not make a trial the best.
func TestFoldsJudgeATrialByTheMeanOverAllOfThem(t *testing.T) {
	t.Parallel()
	s := judgedBy(t, folded(tune.Random), []float64{0.99}, []float64{0.95, 0.7, 0.6, 0.5}, []float64{0.4, 0.5, 0.6, 0.7}, []float64{0.9, 0.98})
	if score, _ := s.Score(s.Trials[1]); score != 0.5 {
		t.Errorf("the score is %v, want the last mean", score)
	}
	if diff := cmp.Diff([]string{"0002", "0001", "0003", "0000"}, idsOf(s.Best())); diff != "" {
		t.Errorf("best: want - got +\n%s", diff)
	}
	if s.Leader().ID != "0002" || s.Pareto()[0].ID != "0002" {
		t.Errorf("the leader is %s", s.Leader().ID)
	}
	if s.Rivals(tune.Ended{Step: 3, Metrics: map[string]float64{"accuracy": 1}}) || !s.Rivals(tune.Ended{Step: 4, Metrics: map[string]float64{"accuracy": 0.71}}) {
		t.Error("a trial of 3 folds can't be the best, one of 4 can")
	}
}

func TestAGoalIsReachedByAllFoldsAlone(t *testing.T) {
	t.Parallel()
	goal := 0.9
	c := folded(tune.Random)
	c.Goal = &goal
	if due := judgedBy(t, c, []float64{0.99}, []float64{0.95, 0.95, 0.95}).Due(time.Time{}); due != nil {
		t.Errorf("the study ends: %+v", due)
	}
	if due := judgedBy(t, c, []float64{0.1, 0.8, 0.8, 0.91}).Due(time.Time{}); due == nil || due.Why != tune.GoalReached {
		t.Errorf("the study ends: %+v", due)
	}
}

func TestAnEpochIsAFold(t *testing.T) {
	t.Parallel()
	for _, algorithm := range tune.Algorithms() {
		s := judgedBy(t, folded(algorithm))
		if epochs := s.Config.Algorithm.MaxEpochs; s.Config.Folds() != 4 || epochs != 0 && epochs != 4 {
			t.Errorf("%s: %d epochs, %d folds", algorithm, epochs, s.Config.Folds())
		}
	}
	fewer := folded(tune.ASHA)
	fewer.Algorithm.MaxEpochs = 3
	if s := judgedBy(t, fewer); s.Config.Folds() != 3 {
		t.Errorf("%d folds of a complete trial, want max_epochs", s.Config.Folds())
	}
}

func TestABadValidationIsRefusedByName(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*tune.Config){
		"validation.folds: expected 2 to 20, got 1":                                                  func(c *tune.Config) { c.Validation.Folds = 1 },
		"validation.folds: expected 2 to 20, got 21":                                                 func(c *tune.Config) { c.Validation.Folds = 21 },
		"validation.folds: expected 2 to 20, got 0":                                                  func(c *tune.Config) { c.Validation = tune.Validation{Order: tune.Forward} },
		`validation.order: expected forward, got "backward"`:                                         func(c *tune.Config) { c.Validation.Order = "backward" },
		"algorithm: max_epochs: an epoch is a fold, and 5 is more than validation.folds, 4":          func(c *tune.Config) { c.Algorithm = tune.Algorithm{Name: tune.BOHB, MaxEpochs: 5} },
		"algorithm: min_epochs: 5 is more than max_epochs, 4":                                        func(c *tune.Config) { c.Algorithm = tune.Algorithm{Name: tune.ASHA, MinEpochs: 5} },
		"stopping: min_step: a step is a fold, and 4 is not less than validation.folds, 4: no trial": func(c *tune.Config) { c.Stopping = tune.Stopping{Rule: tune.Median, MinStep: 4} },
	} {
		c := folded(tune.Random)
		change(&c)
		if err := c.Check(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error is %v, want %s", err, want)
		}
	}
}
