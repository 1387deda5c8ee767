package bayes

import (
	"fmt"
	"math"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune/space"
)

// run makes so many trials of a function, less being better, the first eight spread out.
func run(t *testing.T, search Search, n int, try func(space.Values) Seen) Search {
	t.Helper()
	search.Had = map[string]bool{}
	for i := range n {
		search.Stream = space.NewStream(1, i)
		values, ok := Spread(search.Space, space.NewStream(1, 0), i, 1)[0], true
		if i >= 8 {
			var err error
			if values, ok, err = search.Propose(); err != nil {
				t.Fatal(err)
			}
		}
		if !ok {
			t.Fatalf("trial %d: nothing is proposed", i)
		}
		seen := try(values)
		seen.Values = values
		search.Seen = append(search.Seen, seen)
		search.Had[values.Key()] = true
	}
	return search
}

func number(values space.Values, name string) float64 {
	value, _ := values.Lookup(name)
	switch value := value.(type) {
	case int64:
		return float64(value)
	case float64:
		return value
	}
	return math.NaN()
}

func TestAMinimumIsFound(t *testing.T) {
	t.Parallel()
	search := run(t, seen(0, 2), 30, func(v space.Values) Seen { // Branin's function
		x, y := 15*number(v, "a")-5, 15*number(v, "b")
		a := y - 5.1/(4*math.Pi*math.Pi)*x*x + 5/math.Pi*x - 6
		return Seen{Score: a*a + 10*(1-1/(8*math.Pi))*math.Cos(x) + 10}
	})
	if best := search.best(1)[0].Score; best > 0.41 {
		t.Errorf("best is %v after 30 trials, the minimum is 0.397887", best)
	}
}

func TestAMinimumInACornerIsFound(t *testing.T) {
	t.Parallel()
	search := run(t, seen(0, 3), 20, func(v space.Values) Seen {
		return Seen{Score: number(v, "a") - number(v, "b") + math.Sqrt(number(v, "c"))}
	})
	if best := search.best(1)[0]; best.Score > -0.98 {
		t.Errorf("best is %v, the corner is -1", best)
	}
}

// TestConditionsAreSearchedTogether has its minimum where a parameter is active that most early
// observations lack.
func TestConditionsAreSearchedTogether(t *testing.T) {
	t.Parallel()
	search := run(t, Search{Space: network}, 40, func(v space.Values) Seen {
		score := 0.5 + math.Abs(math.Log10(number(v, "rate"))+3) + math.Abs(math.Log2(number(v, "units"))-6)/10
		if momentum := number(v, "momentum"); momentum >= 0 {
			score += math.Abs(momentum-0.7) - 0.3
		}
		return Seen{Score: score}
	})
	best := search.best(1)[0]
	if optimizer, _ := best.Values.Lookup("optimizer"); optimizer != "sgd" || best.Score > 0.25 {
		t.Errorf("best is %v, the minimum is 0.2 with sgd and a momentum of 0.7", best)
	}
}

func TestWhatFailsIsLeftAlone(t *testing.T) {
	t.Parallel()
	failed := 0
	search := run(t, seen(0, 2), 40, func(v space.Values) Seen {
		if number(v, "a") > 0.6 {
			failed++
			return Seen{Score: math.NaN()}
		}
		// The best values are close to those that fail.
		return Seen{Score: -number(v, "a") + math.Abs(number(v, "b")-0.3)}
	})
	if best := search.best(1)[0].Score; best > -0.53 || failed > 20 {
		t.Errorf("best is %v, the minimum is -0.6; %d of 40 failed", best, failed)
	}
}

func TestConstraintsAreKept(t *testing.T) {
	t.Parallel()
	kept := 0
	search := run(t, seen(0, 2), 40, func(v space.Values) Seen {
		a, b := number(v, "a"), number(v, "b")
		excess := 100 * (a + b - 0.8)
		if excess <= 0 {
			kept++
		}
		return Seen{Score: -a - 2*b, Excess: []float64{excess}} // least, -1.6, at a = 0 and b = 0.8
	})
	if best := search.best(1)[0].Score; best > -1.59 || kept < 15 {
		t.Errorf("best is %v, the minimum is -1.6; %d of 40 kept to the constraint", best, kept)
	}
}

// TestWhereNothingIsAllowedAnythingAllowedIsLookedFor: a twentieth of the square satisfies the
// constraints.
func TestWhereNothingIsAllowedAnythingAllowedIsLookedFor(t *testing.T) {
	t.Parallel()
	search := run(t, seen(0, 2), 25, func(v space.Values) Seen {
		a, b := number(v, "a"), number(v, "b")
		return Seen{Score: a, Excess: []float64{math.Hypot(a-0.8, b-0.85) - 0.12}}
	})
	if len(search.best(1)) == 0 {
		t.Error("nothing allowed was found in 25 trials")
	}
}

func TestWorkersAreGivenDifferentPoints(t *testing.T) {
	t.Parallel()
	search := seen(15, 2)
	c := newCube(search.Space)
	for i := range 8 {
		search.Stream = space.NewStream(1, 15+i)
		values, ok, err := search.Propose()
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		for _, other := range search.Pending {
			if a, b := c.of(values).point, c.of(other).point; math.Hypot(a[0]-b[0], a[1]-b[1]) < 1e-4 {
				t.Errorf("%v next to %v, which is being tried", values, other)
			}
		}
		search.Pending = append(search.Pending, values)
	}
}

func TestAFiniteSpaceIsTriedWholeAndNothingTwice(t *testing.T) {
	t.Parallel()
	search := Search{Space: space.Space{
		{Name: "a", Kind: space.Int, Min: 1, Max: 5, Sampling: space.Linear},
		{Name: "b", Kind: space.Choice, Choices: []any{"x", "y", "z"}},
		{Name: "c", Kind: space.Boolean},
	}}
	search = run(t, search, 30, func(v space.Values) Seen { return Seen{Score: number(v, "a")} })
	if len(search.Had) < 28 { // some of the first eight may be equal
		t.Errorf("%d of 30 points were tried", len(search.Had))
	}
	for len(search.Had) < 30 {
		values, ok, err := search.Propose()
		if err != nil || !ok || search.Had[values.Key()] {
			t.Fatal(values, ok, err)
		}
		search.Had[values.Key()] = true
	}
	if values, ok, _ := search.Propose(); ok {
		t.Errorf("%v is proposed when all was tried", values)
	}
}

// TestWhatIsRememberedChangesNothing clears the caches before every other proposal.
func TestWhatIsRememberedChangesNothing(t *testing.T) {
	try := func(v space.Values) Seen { return Seen{Score: math.Sin(5*number(v, "a")) + number(v, "b")} }
	search := run(t, seen(0, 2), 45, try)
	for n := 18; n < 45; n++ {
		earlier := search
		earlier.Seen, earlier.Stream, earlier.Had = search.Seen[:n], space.NewStream(1, n), nil
		with, _, err := earlier.Propose()
		if err != nil {
			t.Fatal(err)
		}
		forget()
		without, _, err := earlier.Propose()
		if err != nil {
			t.Fatal(err)
		}
		if a, b := fmt.Sprint(with), fmt.Sprint(without); a != b || a != fmt.Sprint(search.Seen[n].Values) {
			t.Fatalf("after %d: %v with what is remembered, %v without, %v the first time", n, a, b, search.Seen[n].Values)
		}
	}
}

func forget() {
	memory.Lock()
	defer memory.Unlock()
	for len(memory.kernels.labels) > 0 {
		memory.kernels.labels, memory.kernels.things = nil, nil
	}
	memory.processes.labels, memory.processes.things = nil, nil
}

func TestNothingButFailuresIsNoFault(t *testing.T) {
	t.Parallel()
	run(t, seen(0, 2), 12, func(space.Values) Seen { return Seen{Score: math.NaN()} })
	run(t, seen(0, 2), 12, func(space.Values) Seen { return Seen{Score: 7} })
}
