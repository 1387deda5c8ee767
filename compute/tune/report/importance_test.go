package report_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/report"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// tried returns a study of completed trials whose scores are computed from their values by score.
func tried(t *testing.T, trials int, score func(rate float64, units int64, word string) float64) *tune.Study {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	s := &tune.Study{Config: tune.Config{
		Space: space.Space{
			{Name: "rate", Kind: space.Float, Min: 0.0001, Max: 1, Sampling: space.Log}, {Name: "units", Kind: space.Int, Min: 1, Max: 100},
			{Name: "word", Kind: space.Choice, Choices: []any{"a", "b", "c"}}, {Name: "fixed", Kind: space.Fixed, Fixed: int64(1)},
		},
		Objectives: []tune.Objective{{Name: "loss", Direction: tune.Min}},
	}}
	for i := range trials {
		rate, units, word := math.Pow(10, -4*random.Float64()), random.Int64N(100)+1, string(rune('a'+random.IntN(3)))
		values := space.Values{{Name: "rate", Of: rate}, {Name: "units", Of: units}, {Name: "word", Of: word}, {Name: "fixed", Of: int64(1)}}
		loss := score(rate, units, word)
		s.Trials = append(s.Trials, &tune.Trial{
			ID: fmt.Sprintf("%04d", i), Suggestion: tune.Suggestion{Values: values}, Status: tune.Completed, Ended: time.Unix(int64(i), 0),
			Metrics: map[string]float64{"loss": loss}, Curves: map[string][]tune.Point{"loss": {{Step: 1, Value: loss}}},
		})
	}
	s.Entries = 1
	return s
}

func TestImportanceFindsWhatTheScoreComesFrom(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		score func(rate float64, units int64, word string) float64
		most  string
	}{
		"a number, by its logarithm, and not monotone": {func(rate float64, _ int64, _ string) float64 { l := math.Log10(rate) + 2; return l * l }, "rate"},
		"a whole number": {func(_ float64, units int64, _ string) float64 { return float64(units) }, "units"},
		"a word":         {func(_ float64, _ int64, word string) float64 { return map[string]float64{"a": 3, "b": 0, "c": 1}[word] }, "word"},
		"a word, where one trial in ten has diverged": {func(rate float64, _ int64, word string) float64 {
			if rate > 0.4 {
				return 1e9
			}
			return map[string]float64{"a": 3, "b": 0, "c": 1}[word]
		}, "word"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := report.Explain(tried(t, 120, tc.score)).Parameters
			if len(list) != 3 || list[0].Parameter != tc.most || list[0].Explained < 0.6 {
				t.Fatalf("%+v, want %s to explain most, and nothing of what is fixed", list, tc.most)
			}
			for _, other := range list[1:] {
				if other.Explained > 0.4 || other.Trials != 120 {
					t.Errorf("%+v", other)
				}
			}
		})
	}
}

func TestImportanceOfNoise(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for _, one := range report.Explain(tried(t, 200, func(float64, int64, string) float64 { return random.NormFloat64() })).Parameters {
		if one.Explained > 0.1 { // the part that is due to chance is subtracted
			t.Errorf("%+v", one)
		}
	}
	if few := report.Explain(tried(t, 3, func(float64, int64, string) float64 { return random.Float64() })).Parameters; len(few) != 0 {
		t.Errorf("of three trials: %+v", few)
	}
	for _, one := range report.Explain(tried(t, 50, func(float64, int64, string) float64 { return 1 })).Parameters {
		if one.Explained != 0 {
			t.Errorf("all scores are alike: %+v", one)
		}
	}
}

// known returns a study of completed trials at random values of parameters a to d in the unit cube.
func known(t *testing.T, trials int, score func(a, b, c, d float64) float64) *tune.Study {
	t.Helper()
	random := rand.New(rand.NewPCG(5, 6))
	s := &tune.Study{Config: tune.Config{Objectives: []tune.Objective{{Name: "loss", Direction: tune.Min}}}, Entries: 1}
	for _, name := range []string{"a", "b", "c", "d"} {
		s.Config.Space = append(s.Config.Space, space.Parameter{Name: name, Kind: space.Float, Max: 1})
	}
	for i := range trials {
		a, b, c, d := random.Float64(), random.Float64(), random.Float64(), random.Float64()
		s.Trials = append(s.Trials, &tune.Trial{
			ID: fmt.Sprintf("%04d", i), Status: tune.Completed, Metrics: map[string]float64{"loss": score(a, b, c, d)},
			Suggestion: tune.Suggestion{Values: space.Values{{Name: "a", Of: a}, {Name: "b", Of: b}, {Name: "c", Of: c}, {Name: "d", Of: d}}},
		})
	}
	return s
}

func shares(e report.Explanation) map[string]float64 {
	shares := map[string]float64{}
	for _, one := range e.Parameters {
		shares[one.Parameter] = one.Share
	}
	return shares
}

// TestSharesOfAKnownFunction compares with shares of the variance that are known: for a sum of
// independent terms, that of each term. The tolerance of 0.06 covers that scores count by their
// rank, and what a forest of 2,000 points doesn't fit.
func TestSharesOfAKnownFunction(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		score func(a, b, c, d float64) float64
		want  map[string]float64
	}{
		"a sum": {func(a, b, _, _ float64) float64 { return 2*a + b }, map[string]float64{"a": 0.8, "b": 0.2}},
		// It has effects of both together only.
		"a product": {func(_, _, c, d float64) float64 { return (c - 0.5) * (d - 0.5) }, map[string]float64{}},
		"not monotone": {func(a, b, c, _ float64) float64 {
			return math.Cos(2*math.Pi*a) + math.Cos(2*math.Pi*b) + math.Sqrt2*math.Cos(2*math.Pi*c)
		}, map[string]float64{"a": 0.25, "b": 0.25, "c": 0.5}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := report.Explain(known(t, 2000, tc.score))
			for name, share := range shares(e) {
				if math.Abs(share-tc.want[name]) > 0.06 {
					t.Errorf("%s has %.3f, want %.2f", name, share, tc.want[name])
				}
			}
			if e.Fit < 0.8 || e.Trials != 2000 || len(e.Parameters) != 4 {
				t.Errorf("%+v", e)
			}
		})
	}
}

// A search that tries good values most doesn't make a parameter less important.
func TestSharesAreOfTheWholeSpace(t *testing.T) {
	t.Parallel()
	s := known(t, 1000, func(a, b, _, _ float64) float64 { return a + b })
	for i, trial := range s.Trials {
		if i%5 != 0 { // four of five trials are near the best value of a
			trial.Values[0].Of = trial.Values[0].Of.(float64) / 20
			trial.Metrics["loss"] = trial.Values[0].Of.(float64) + trial.Values[1].Of.(float64)
		}
	}
	e := report.Explain(s)
	share := shares(e)
	if math.Abs(share["a"]-share["b"]) > 0.1 {
		t.Errorf("%+v: a and b count alike", e)
	}
	if e.Parameters[0].Parameter != "a" && e.Parameters[0].Parameter != "b" {
		t.Errorf("%+v", e)
	}
}

func TestSharesAreTheSameForTheSameStudy(t *testing.T) {
	t.Parallel()
	score := func(a, b, _, _ float64) float64 { return 2*a + b }
	one, other := report.Explain(known(t, 300, score)), report.Explain(known(t, 300, score))
	if fmt.Sprint(one) != fmt.Sprint(other) {
		t.Errorf("%+v, then %+v", one, other)
	}
	random := rand.New(rand.NewPCG(7, 8))
	if noise := report.Explain(known(t, 300, func(float64, float64, float64, float64) float64 { return random.Float64() })); noise.Fit > 0.1 {
		t.Errorf("noise is predicted: %+v", noise)
	}
}

// TestSharesOfAHostileStudy has values that are not numbers, a hundred parameters, more words than
// bins, and parameters that are active in some trials only.
func TestSharesOfAHostileStudy(t *testing.T) {
	t.Parallel()
	s := &tune.Study{Config: tune.Config{Objectives: []tune.Objective{{Name: "loss", Direction: tune.Min}}}, Entries: 1}
	for i := range 100 {
		p := space.Parameter{Name: fmt.Sprintf("p%02d", i), Kind: space.Float, Max: 1}
		switch i % 4 {
		case 1:
			p.Kind, p.Min, p.Max = space.Int, math.Inf(-1), math.Inf(1)
		case 2:
			p.Kind, p.Max = space.Choice, 0
		case 3:
			p.Min, p.Sampling = -1, space.Log
		}
		s.Config.Space = append(s.Config.Space, p)
	}
	for i := range 2000 {
		t := &tune.Trial{ID: fmt.Sprintf("%04d", i), Status: tune.Completed, Metrics: map[string]float64{"loss": float64(i % 97)}}
		for at, p := range s.Config.Space {
			var value any = []float64{math.NaN(), math.Inf(1), -1, 0.5, 1e308}[(i+at)%5]
			if p.Kind == space.Choice {
				value = fmt.Sprint(i)
			}
			if (i+at)%7 != 0 {
				t.Values = append(t.Values, space.Value{Name: p.Name, Of: value})
			}
		}
		s.Trials = append(s.Trials, t)
	}
	e := report.Explain(s)
	for _, one := range e.Parameters {
		if !(one.Share >= 0 && one.Share <= 1 && one.Explained >= 0 && one.Explained <= 1) {
			t.Errorf("%+v", one)
		}
	}
	if !(e.Fit >= 0 && e.Fit <= 1) {
		t.Errorf("fit %v", e.Fit)
	}
	for _, few := range []int{0, 1, 2} {
		s.Trials = s.Trials[:few]
		if e := report.Explain(s); len(e.Parameters) > 0 {
			t.Errorf("of %d trials: %+v", few, e)
		}
	}
}
