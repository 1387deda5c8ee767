package tune

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// The defaults, KerasTuner's where it has one.
const (
	defaultTrials    = 10
	defaultFailures  = 3
	defaultEpochs    = 100
	defaultFactor    = 3
	defaultBeta      = 2.6
	defaultOfMedian  = 50
	defaultMinTrials = 5
)

// Check says what is wrong with a config, naming its first bad field.
func (c Config) Check() error {
	for _, check := range []func() error{c.checkSpace, c.checkObjectives, c.Algorithm.check, c.Stopping.check, c.checkBounds, c.checkPoints} {
		if err := check(); err != nil {
			return err
		}
	}
	for _, constraint := range c.Constraints {
		switch {
		case constraint.Name == "":
			return fmt.Errorf("constraints: name: missing")
		case constraint.Max == nil && constraint.Min == nil:
			return fmt.Errorf("constraints: %s: expected a max or a min", constraint.Name)
		}
	}
	return nil
}

func (c Config) checkSpace() error {
	if err := c.Space.Check(); err != nil {
		return fmt.Errorf("space: %w", err)
	}
	return nil
}

func (c Config) checkPoints() error {
	for i, point := range c.Points {
		if p, outside := c.Space.Outside(point); outside {
			value, _ := point.Lookup(p.Name)
			return fmt.Errorf("points[%d]: %s: %v is not in the space", i, p.Name, value)
		}
	}
	return nil
}

func (c Config) checkObjectives() error {
	if len(c.Objectives) == 0 {
		return fmt.Errorf("objectives: expected one at least")
	}
	var names []string
	for i, o := range c.Objectives {
		switch {
		case o.Name == "":
			return fmt.Errorf("objectives[%d]: name: missing", i)
		case slices.Contains(names, o.Name):
			return fmt.Errorf("objectives[%d]: %s: is there twice", i, o.Name)
		case o.Direction != Min && o.Direction != Max:
			return fmt.Errorf("objectives[%d]: %s: direction: expected %s or %s, got %q", i, o.Name, Min, Max, o.Direction)
		}
		names = append(names, o.Name)
	}
	return nil
}

// checkBounds knows KerasTuner's words for no bound: 0, or nothing.
func (c Config) checkBounds() error {
	for _, n := range []struct {
		name  string
		value int
	}{
		{"parallel", c.Parallel}, {"max_trials", c.MaxTrials}, {"patience", c.Patience}, {"max_time", int(c.MaxTime)},
		{"max_retries_per_trial", c.Retries}, {"max_consecutive_failed_trials", c.MaxFailures},
	} {
		if n.value < 0 {
			return fmt.Errorf("%s: expected 0 or more, got %d", n.name, n.value)
		}
	}
	return nil
}

func (a Algorithm) check() error {
	if !slices.Contains(Algorithms(), a.Name) {
		return fmt.Errorf("algorithm: name: expected one of %s, got %q", strings.Join(Algorithms(), ", "), a.Name)
	}
	for _, n := range []struct {
		name         string
		value, least int
	}{
		{"max_epochs", a.MaxEpochs, 1}, {"factor", a.Factor, 2}, {"iterations", a.Iterations, 1}, {"min_epochs", a.MinEpochs, 1},
		{"initial_points", a.InitialPoints, 1},
	} {
		if n.value != 0 && n.value < n.least || n.value > math.MaxInt32 {
			return fmt.Errorf("algorithm: %s: expected %d to %d, got %d", n.name, n.least, math.MaxInt32, n.value)
		}
	}
	a = a.withDefaults()
	switch {
	case a.MinEpochs > a.MaxEpochs && a.HasEpochs():
		return fmt.Errorf("algorithm: min_epochs: %d is more than max_epochs, %d", a.MinEpochs, a.MaxEpochs)
	case a.Acquisition != LogEI && a.Acquisition != UCB:
		return fmt.Errorf("algorithm: acquisition: expected %s or %s, got %q", LogEI, UCB, a.Acquisition)
	case !(a.Beta > 0):
		return fmt.Errorf("algorithm: beta: expected more than 0, got %v", a.Beta)
	}
	return nil
}

// HasEpochs reports whether trials have a budget in epochs, and continue others.
func (a Algorithm) HasEpochs() bool {
	return slices.ContainsFunc(algorithms, func(known algorithm) bool { return known.name == a.Name && known.epochs })
}

// EndsByItself reports whether the algorithm has a number of trials of its own.
func (a Algorithm) EndsByItself() bool {
	return slices.ContainsFunc(algorithms, func(known algorithm) bool { return known.name == a.Name && known.ends })
}

func (s Stopping) check() error {
	switch {
	case s.Rule != "" && s.Rule != Median && s.Rule != Percentile:
		return fmt.Errorf("stopping: rule: expected %s or %s, got %q", Median, Percentile, s.Rule)
	case s.Percentile < 0 || s.Percentile > 100:
		return fmt.Errorf("stopping: percentile: expected 0 to 100, got %v", s.Percentile)
	case s.MinTrials < 0:
		return fmt.Errorf("stopping: min_trials: expected 0 or more, got %d", s.MinTrials)
	case s.MinStep < 0:
		return fmt.Errorf("stopping: min_step: expected 0 or more, got %d", s.MinStep)
	}
	return nil
}

// withDefaults fills in what was left out. A search that nothing else ends is one of ten trials;
// grid and Hyperband end by themselves.
func (c Config) withDefaults() Config {
	c.Algorithm = c.Algorithm.withDefaults()
	c.Parallel = cmp.Or(c.Parallel, 1)
	c.MaxFailures = cmp.Or(c.MaxFailures, defaultFailures)
	ends := c.MaxTime > 0 || c.Patience > 0 || c.Algorithm.EndsByItself()
	if c.MaxTrials == 0 && !ends {
		c.MaxTrials = defaultTrials
	}
	if c.Stopping.Rule != "" {
		c.Stopping.MinTrials = cmp.Or(c.Stopping.MinTrials, defaultMinTrials)
		c.Stopping.Percentile = cmp.Or(c.Stopping.Percentile, defaultOfMedian)
	}
	return c
}

func (a Algorithm) withDefaults() Algorithm {
	if a.HasEpochs() {
		known := algorithms[slices.Index(Algorithms(), a.Name)]
		a.MaxEpochs = cmp.Or(a.MaxEpochs, defaultEpochs)
		a.Factor = cmp.Or(a.Factor, known.factor, defaultFactor)
		a.Iterations = cmp.Or(a.Iterations, 1)
		a.MinEpochs = cmp.Or(a.MinEpochs, 1)
	}
	a.Acquisition = cmp.Or(a.Acquisition, LogEI)
	a.Beta = cmp.Or(a.Beta, defaultBeta)
	return a
}

// bounded is a config with the bounds and budgets of another: what a study may be given anew
// without being another one.
func (c Config) bounded(by Config) Config {
	c.Parallel, c.MaxTrials, c.MaxTime, c.Goal, c.Patience = by.Parallel, by.MaxTrials, by.MaxTime, by.Goal, by.Patience
	c.Retries, c.MaxFailures = by.Retries, by.MaxFailures
	return c
}
