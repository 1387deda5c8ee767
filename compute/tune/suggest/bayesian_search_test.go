package suggest

import (
	"math"
	"strconv"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// TestWhatASearchKnows uses a study with a trial in each status, and an older study that also had
// other objectives.
func TestWhatASearchKnows(t *testing.T) {
	t.Parallel()
	at := func(a float64) space.Values { return space.Values{{Name: "a", Of: a}} }
	limit := 0.5
	s := &tune.Study{}
	apply := func(e tune.Entry) {
		if err := s.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	apply(tune.Entry{Begun: &tune.Begun{Config: tune.Config{
		Algorithm: tune.Algorithm{Name: tune.Bayesian}, Parallel: 7, Retries: 1,
		Space:       space.Space{{Name: "a", Kind: space.Float, Max: 1, Sampling: space.Linear}},
		Objectives:  []tune.Objective{{Name: "auc", Direction: tune.Max}},
		Constraints: []tune.Constraint{{Name: "latency", Max: &limit}},
		Earlier: []tune.Earlier{
			{Values: at(0.1), Metrics: map[string]float64{"auc": 0.6, "latency": 0.75}},
			{Values: at(0.2), Metrics: map[string]float64{"loss": 3}},
		},
	}}})
	start := func(trial, owner string, suggestion *tune.Suggestion) {
		apply(tune.Entry{Started: []tune.Started{{Trial: trial, Owner: tune.Owner{Job: owner}, Suggestion: suggestion}}})
	}
	for i, a := range []float64{0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9} {
		start(s.NextID(), strconv.Itoa(i), &tune.Suggestion{Values: at(a)})
	}
	end := func(trial string, status tune.Status, metrics map[string]float64) {
		owner := s.Trial(trial).Owner
		apply(tune.Entry{Ended: &tune.Ended{Trial: trial, Owner: owner, Status: status, Metrics: metrics}})
	}
	end("0003", tune.Failed, nil)
	end("0001", tune.Completed, map[string]float64{"auc": 0.8})
	start("0003", "again", nil)
	end("0003", tune.Failed, map[string]float64{"auc": 0.9})
	end("0004", tune.Invalid, nil)
	end("0000", tune.Completed, map[string]float64{"auc": 0.7, "latency": 0.25})
	end("0005", tune.Infeasible, nil)
	end("0006", tune.Completed, map[string]float64{"auc": 1})
	s.Trials[6].Metrics["auc"] = math.Inf(1) // not possible in a log
	none := math.NaN()
	want := []struct{ a, score, excess float64 }{ // in the order in which they ended
		{0.1, -0.6, 0.25}, {0.4, -0.8, none}, {0.6, none, none}, {0.3, -0.7, -0.25}, {0.8, none, none}, {0.9, none, none},
	}
	search := searchOf(s)
	if len(search.Seen) != len(want) || len(search.Pending) != 2 || len(search.Had) != 7 {
		t.Fatalf("%d seen, %d pending, %d had", len(search.Seen), len(search.Pending), len(search.Had))
	}
	for i, seen := range search.Seen {
		a, _ := seen.Values.Lookup("a")
		if a != want[i].a || differ(seen.Score, want[i].score) || differ(seen.Excess[0], want[i].excess) {
			t.Errorf("%v, expected %v", seen, want[i])
		}
	}
}

func differ(a, b float64) bool { return !(a == b || math.IsNaN(a) && math.IsNaN(b)) }

func TestMixturesLieAllOver(t *testing.T) {
	t.Parallel()
	var parts [4]int
	for trial := range 100 {
		weights := simplex(2, space.NewStream(1, trial))
		if math.Abs(weights[0]+weights[1]-1) > 1e-12 {
			t.Fatal(weights)
		}
		parts[int(4*weights[0])]++
	}
	for _, n := range parts {
		if n < 12 { // of 25, each equally likely: three deviations
			t.Errorf("%v", parts)
		}
	}
}

func TestAMixtureHasTheWorstOfEachObjective(t *testing.T) {
	t.Parallel()
	mixed := mix([][]float64{{0, 50}, {1, 100}, {0.5, 50}, nil, {0, math.Inf(1)}}, 2, space.NewStream(1, 1))
	if !(mixed[0] < mixed[2] && mixed[2] < mixed[1] && math.IsNaN(mixed[3]) && math.IsNaN(mixed[4])) {
		t.Errorf("%v", mixed)
	}
}
