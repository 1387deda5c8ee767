package suggest_test

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/compute/tune/suggest"
)

// tpeOf returns a search by Parzen estimators.
func tpeOf(trials int, in ...space.Parameter) tune.Config {
	config := config(tune.Algorithm{Name: tune.TPE}, in...)
	config.MaxTrials, config.MaxFailures = trials, 1e6
	return config
}

// bowl has its minimum, 0, at one point of the unit square.
func bowl(values space.Values) float64 {
	return math.Pow(float(values, "x")-0.8, 2) + math.Pow(float(values, "y")-0.3, 2)
}

// median of a number for each of some seeds.
func median(of func(seed int64) float64) float64 {
	var values []float64
	for seed := range int64(9) {
		values = append(values, of(seed))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

func TestTPEFindsWhatRandomValuesDoNot(t *testing.T) {
	t.Parallel()
	best := func(algorithm string) float64 {
		return median(func(seed int64) float64 {
			config := tpeOf(50, unit("x"), unit("y"))
			config.Algorithm.Name, config.Seed = algorithm, seed
			l := begin(t, config)
			l.search(func(t *tune.Trial) float64 { return bowl(t.Values) })
			score, _ := l.study.Score(l.study.Best()[0])
			return score
		})
	}
	if tpe, random := best(tune.TPE), best(tune.Random); tpe > random/3 {
		t.Errorf("expected a third of what random values find in 50 trials, %v, or less, got %v", random, tpe)
	}
}

func TestTPEMakesLargeWhatIsToBe(t *testing.T) {
	t.Parallel()
	config := tpeOf(40, unit("x"), unit("y"))
	config.Objectives[0].Direction = tune.Max
	l := begin(t, config)
	l.search(func(t *tune.Trial) float64 { return -bowl(t.Values) })
	if best, _ := l.study.Score(l.study.Best()[0]); best < -0.02 {
		t.Errorf("expected a score near 0, got %v", best)
	}
}

// family returns a choice with a parameter of its own for each.
func family() []space.Parameter {
	of := func(name string) []space.Condition { return []space.Condition{{Parent: "family", Values: []any{name}}} }
	tree, net := unit("depth"), unit("rate")
	tree.Conditions, net.Conditions = of("tree"), of("net")
	return []space.Parameter{{Name: "family", Kind: space.Choice, Choices: []any{"tree", "net", "line"}}, tree, net}
}

// crop is the objective: nets are the best where they are good, and trees are mostly better.
func crop(values space.Values) float64 {
	switch of, _ := values.Lookup("family"); of {
	case "tree":
		return 0.1 + 0.1*math.Abs(float(values, "depth")-0.5)
	case "net":
		return math.Abs(float(values, "rate") - 0.9)
	}
	return 0.5
}

func TestTPESearchesEachBranchWhereItIsAtItsBest(t *testing.T) {
	t.Parallel()
	best := median(func(seed int64) float64 {
		config := tpeOf(60, family()...)
		config.Seed = seed
		l := begin(t, config)
		l.search(func(t *tune.Trial) float64 {
			if of, _ := t.Values.Lookup("family"); (of == "net") != !math.IsNaN(float(t.Values, "rate")) {
				l.Errorf("trial %s: expected the parameters of its family alone, got %v", t.ID, t.Values)
			}
			return crop(t.Values)
		})
		score, _ := l.study.Score(l.study.Best()[0])
		return score
	})
	if best > 0.05 {
		t.Errorf("expected a net near its best, 0, got %v: the best tree's is 0.1", best)
	}
}

func TestTPETriesAllOfAFiniteSpaceOnce(t *testing.T) {
	t.Parallel()
	config := tpeOf(1000, space.Parameter{Name: "n", Kind: space.Int, Min: 1, Max: 30, Sampling: space.Log},
		space.Parameter{Name: "deep", Kind: space.Boolean})
	l := begin(t, config)
	l.search(func(t *tune.Trial) float64 { return float(t.Values, "n") })
	keys := map[string]bool{}
	for _, trial := range l.study.Trials {
		keys[trial.Values.Key()] = true
	}
	if len(keys) != 60 || len(l.study.Trials) != 60 {
		t.Errorf("expected each of 60 points once, got %d in %d trials", len(keys), len(l.study.Trials))
	}
}

func TestTPESaysTheSameOfTheSameLog(t *testing.T) {
	t.Parallel()
	var last []space.Values
	for range 3 {
		l := begin(t, tpeOf(30, append(family(), unit("x"), unit("y"))...))
		l.search(func(t *tune.Trial) float64 { return crop(t.Values) + bowl(t.Values) })
		var tried []space.Values
		for _, trial := range l.study.Trials {
			tried = append(tried, trial.Values)
		}
		if last != nil && !reflect.DeepEqual(tried, last) {
			t.Fatalf("expected what was tried before, %v, got %v", last, tried)
		}
		last = tried
	}
}

// lastHalf returns how many of the last 30 of 60 trials have a status, in the median over seeds, if
// those that are not allowed fail.
func lastHalf(t *testing.T, status tune.Status, allowed func(x float64) bool) float64 {
	return median(func(seed int64) (count float64) {
		config := tpeOf(60, unit("x"), unit("y"))
		config.Seed = seed
		l := begin(t, config)
		l.search(func(t *tune.Trial) float64 {
			if !allowed(float(t.Values, "x")) {
				return math.NaN()
			}
			return bowl(t.Values)
		})
		for _, trial := range l.study.Trials[30:] {
			if trial.Status == status {
				count++
			}
		}
		return count
	})
}

func TestTPETakesNoFailureForGood(t *testing.T) {
	t.Parallel()
	completed := lastHalf(t, tune.Completed, func(x float64) bool { return x >= 0.9 })
	if completed < 10 { // random search reaches 3 of 30
		t.Errorf("expected 10 of the last 30 trials to be where one in ten succeeds, got %v", completed)
	}
}

func TestTPEKeepsAwayFromWhatFails(t *testing.T) {
	t.Parallel()
	// The best values are next to those that fail, so that a search of the edge falls on both
	// sides.
	failed := lastHalf(t, tune.Failed, func(x float64) bool { return x <= 0.4 })
	if failed > 15 { // random search has 18 of 30
		t.Errorf("expected at most half of the last 30 trials to fail, got %v", failed)
	}
}

func TestTPEKeepsAwayFromWhatIsTriedJustNow(t *testing.T) {
	t.Parallel()
	// apart returns the mean distance of 15 suggestions, made with or without knowledge of each
	// other.
	apart := func(known bool) float64 {
		return median(func(seed int64) float64 {
			config := tpeOf(100, unit("x"), unit("y"))
			config.Parallel, config.Seed = 20, seed
			l := begin(t, config)
			for range 30 {
				trial, _ := l.start("worker")
				l.end(trial, bowl(trial.Values))
			}
			var suggested []space.Values
			for i := range 15 {
				suggestion, _, err := suggest.Next(&l.study)
				if err != nil {
					t.Fatal(err)
				}
				if known {
					l.start(string(rune('a' + i)))
				} else {
					l.study.Config.Seed += 1000 // with another seed
				}
				suggested = append(suggested, suggestion.Values)
			}
			return distance(suggested)
		})
	}
	if known, alone := apart(true), apart(false); known < 2*alone {
		t.Errorf("expected trials that run at once to lie twice as far apart as such as know nothing of each other, %v, got %v", alone, known)
	}
}

// distance returns the mean distance of values from each other.
func distance(of []space.Values) float64 {
	sum, pairs := 0.0, 0.0
	for i, a := range of {
		for _, b := range of[:i] {
			sum += math.Hypot(float(a, "x")-float(b, "x"), float(a, "y")-float(b, "y"))
			pairs++
		}
	}
	return sum / pairs
}

func TestTPEKeepsToConstraints(t *testing.T) {
	t.Parallel()
	most := 0.5
	config := tpeOf(60, unit("x"), unit("y"))
	config.Constraints = []tune.Constraint{{Name: "size", Max: &most}}
	l := begin(t, config)
	for {
		trial, verdict := l.start("worker")
		if verdict == tune.Over {
			break
		}
		metrics := map[string]float64{"loss": bowl(trial.Values), "size": float(trial.Values, "x") + float(trial.Values, "y")}
		l.apply(tune.Entry{Ended: &tune.Ended{Trial: trial.ID, Owner: trial.Owner, Status: tune.Completed, Metrics: metrics}})
	}
	kept := 0
	for _, trial := range l.study.Trials[30:] {
		if l.study.Feasible(trial) {
			kept++
		}
	}
	if kept < 8 { // random search reaches 4 of 30: the limit cuts an eighth off
		t.Errorf("expected 8 of the last 30 trials to keep to the constraint, got %d", kept)
	}
	if best := l.study.Best()[0]; bowl(best.Values) > 0.25 { // 0.18 is the minimum on the limit
		t.Errorf("expected a trial near the best that is allowed, got %v", bowl(best.Values))
	}
}

func TestTPESpreadsOverAParetoSet(t *testing.T) {
	t.Parallel()
	// near counts the trials near either half of the Pareto set, which is y = 0.5 for any x, and
	// returns the count of the half with fewer.
	near := func(algorithm string) float64 {
		return median(func(seed int64) float64 {
			config := tpeOf(80, unit("x"), unit("y"))
			config.Objectives = append(config.Objectives, tune.Objective{Name: "size", Direction: tune.Max})
			config.Algorithm.Name, config.Seed = algorithm, seed
			l := begin(t, config)
			for {
				trial, verdict := l.start("worker")
				if verdict == tune.Over {
					break
				}
				x, off := float(trial.Values, "x"), 4*math.Abs(float(trial.Values, "y")-0.5)
				l.apply(tune.Entry{Ended: &tune.Ended{Trial: trial.ID, Owner: trial.Owner, Status: tune.Completed,
					Metrics: map[string]float64{"loss": x + off, "size": x - off}}})
			}
			var halves [2]float64
			for _, trial := range l.study.Trials {
				if math.Abs(float(trial.Values, "y")-0.5) < 0.05 {
					halves[int(2*float(trial.Values, "x"))]++
				}
			}
			return min(halves[0], halves[1])
		})
	}
	if tpe, random := near(tune.TPE), near(tune.Random); tpe < 2*random {
		t.Errorf("expected twice as many trials near each half of the Pareto set as at random, %v, got %v", random, tpe)
	}
}

func TestTPELearnsFromAnOlderStudy(t *testing.T) {
	t.Parallel()
	config := tpeOf(10, unit("x"), unit("y"))
	for i := range 40 {
		stream := space.NewStream(7, i)
		values := space.Values{{Name: "x", Of: stream.Float64("x", 0)}, {Name: "y", Of: stream.Float64("y", 0)}}
		config.Earlier = append(config.Earlier, tune.Earlier{Values: values, Metrics: map[string]float64{"loss": bowl(values)}})
	}
	l := begin(t, config)
	l.search(func(t *tune.Trial) float64 { return bowl(t.Values) })
	sum := 0.0
	for _, trial := range l.study.Trials {
		sum += bowl(trial.Values) / 10
	}
	if sum > 0.15 { // random search has 0.3
		t.Errorf("expected the first ten trials to be near the best that is known, got a mean of %v", sum)
	}
}

func BenchmarkTPEOfAHundred(b *testing.B)  { benchmark(b, tpeOf(2000), 100) }
func BenchmarkTPEOfAThousand(b *testing.B) { benchmark(b, tpeOf(2000), 1000) }

// benchmark measures one suggestion for six numbers, with so many trials to learn from.
func benchmark(b *testing.B, config tune.Config, trials int) {
	for _, name := range []string{"x", "y", "z", "u", "v", "w"} {
		config.Space = append(config.Space, unit(name))
	}
	random := config
	random.Algorithm.Name = tune.Random
	l := begin(b, random)
	for range trials {
		trial, _ := l.start("worker")
		l.end(trial, bowl(trial.Values))
	}
	l.study.Config.Algorithm = config.Algorithm
	for b.Loop() {
		if _, _, err := suggest.Next(&l.study); err != nil {
			b.Fatal(err)
		}
	}
}
