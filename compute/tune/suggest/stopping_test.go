package suggest_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/suggest"
)

// curve returns a metric at steps 10, 20, ...
func curve(values ...float64) (points []tune.Point) {
	for i, value := range values {
		points = append(points, tune.Point{Step: 10 * (i + 1), Value: value})
	}
	return points
}

// curves returns a study of completed trials with these curves, and one more that runs.
func curves(t *testing.T, rule tune.Stopping, direction tune.Direction, completed ...[]tune.Point) (*tune.Study, *tune.Trial) {
	t.Helper()
	config := config(tune.Algorithm{Name: tune.Random}, unit("x"))
	config.Stopping, config.MaxTrials, config.Objectives[0].Direction = rule, 100, direction
	l := begin(t, config)
	for i, c := range completed {
		trial, _ := l.start(fmt.Sprint(i))
		l.apply(tune.Entry{Ended: &tune.Ended{Trial: trial.ID, Owner: trial.Owner, Status: tune.Completed,
			Curves: map[string][]tune.Point{"loss": c}}})
	}
	running, _ := l.start("running")
	return &l.study, running
}

func TestTrialsStopThatAreWorseThanOthersWere(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	// 3 is the median at 20
	five := [][]tune.Point{curve(9, 5, 1), curve(9, 4, 2), curve(9, 3, 3), curve(9, 2, 8), curve(9, 1, 9)}
	median := tune.Stopping{Rule: "median"}
	for _, c := range []struct {
		name string
		rule tune.Stopping
		of   [][]tune.Point
		now  []tune.Point
		want bool
	}{
		{"no rule", tune.Stopping{}, five, curve(9, 99), false},
		{"worse than the median", median, five, curve(9, 3.1), true},
		{"the median itself", median, five, curve(9, 3), false},
		{"better before", median, five, curve(2.9, 99), false},
		{"too few trials", median, five[:4], curve(9, 99), false},
		{"fewer are enough", tune.Stopping{Rule: "median", MinTrials: 2}, five[:2], curve(9, 4.6), true},
		{"between two", tune.Stopping{Rule: "median", MinTrials: 2}, five[:2], curve(9, 4.4), false},
		{"too early", tune.Stopping{Rule: "median", MinStep: 21}, five, curve(9, 99), false},
		{"not too early", tune.Stopping{Rule: "median", MinStep: 20}, five, curve(9, 99), true},
		{"no number", median, five, curve(nan, nan), true},
		{"no number, then one", median, five, curve(nan, 1), false},
		{"others were no numbers", median,
			[][]tune.Point{curve(nan, 1), curve(nan, 1), curve(nan, 1), curve(3, 1), curve(2, 1)}, curve(7), false},
		{"nothing reported", median, five, nil, false},
		{"the best quarter goes on", tune.Stopping{Rule: "percentile", Percentile: 25}, five, curve(9, 2.1), true},
		{"it is among the best quarter", tune.Stopping{Rule: "percentile", Percentile: 25}, five, curve(9, 2), false},
		{"three quarters go on", tune.Stopping{Rule: "percentile", Percentile: 75}, five, curve(9, 4), false},
		{"nobody has come so far", median, five, curve(9, 9, 9, 9.1), true},
		{"stopped ones count with what they had", median,
			append([][]tune.Point{curve(8), curve(8), curve(8)}, five...), curve(9, 9, 2.4), false},
	} {
		study, running := curves(t, c.rule, tune.Min, c.of...)
		if got := suggest.Stop(study, running, c.now); got != c.want {
			t.Errorf("%s: expected %v, got %v", c.name, c.want, got)
		}
	}
}

func TestTrialsStopByScoresThatAreToBeLarge(t *testing.T) {
	t.Parallel()
	study, running := curves(t, tune.Stopping{Rule: "median", MinTrials: 3}, tune.Max, curve(1), curve(2), curve(3))
	if !suggest.Stop(study, running, curve(1.9)) || suggest.Stop(study, running, curve(2.1)) {
		t.Error("expected a trial below the median of 2 to be stopped, and none above it")
	}
}

func TestTrialsOfSeveralObjectivesAreNotStopped(t *testing.T) {
	t.Parallel()
	study, running := curves(t, tune.Stopping{Rule: "median", MinTrials: 1}, tune.Min, curve(1), curve(2))
	study.Config.Objectives = append(study.Config.Objectives, tune.Objective{Name: "size", Direction: tune.Min})
	if suggest.Stop(study, running, curve(99)) {
		t.Error("expected a trial of two objectives to go on")
	}
}

// A running mean over two folds is compared with those of others over two: a lucky first fold saves
// no trial, and an unlucky one ends none.
func TestFoldsAreComparedByTheMeansUpToThem(t *testing.T) {
	t.Parallel()
	s, running := curves(t, tune.Stopping{Rule: "median"}, tune.Min, curve(1, 5, 1), curve(1, 4, 2), curve(1, 3, 3), curve(1, 2, 8), curve(1, 1, 9))
	s.Config.Validation.Folds = 3
	for _, c := range []struct {
		now  []tune.Point
		want bool
	}{{curve(0.5, 3.1), true}, {curve(0.5, 3), false}, {curve(9, 3), false}, {curve(0.5, 0.4, 3.1), true}, {curve(0.5, 0.4, 3), false}} {
		if got := suggest.Stop(s, running, c.now); got != c.want {
			t.Errorf("%v is stopped: %t", c.now, got)
		}
	}
}
