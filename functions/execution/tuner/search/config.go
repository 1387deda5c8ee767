package search

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// Config returns the search that a module asks for, with the pipeline's settings in place of the
// module's, and the values that follow from both.
func Config(said []byte, search pipeline.Search) (c tune.Config, err error) {
	d := json.NewDecoder(bytes.NewReader(said))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return c, checkFailure(fmt.Errorf("study of the module: %w", err))
	}
	if search.Study != nil {
		if err := override(&c, *search.Study); err != nil {
			return c, checkFailure(fmt.Errorf("tuner.study: %w", err))
		}
	}
	c.Parallel = max(1, cmp.Or(search.TuneArgs.NumParallelTrials, c.Parallel))
	c.Seed = cmp.Or(c.Seed, search.Seed)
	c.Algorithm.Name = cmp.Or(c.Algorithm.Name, tune.Bayesian)
	if err := infer(c.Objectives); err != nil {
		return c, checkFailure(err)
	}
	if err := c.Check(); err != nil {
		return c, checkFailure(fmt.Errorf("study: %w", err))
	}
	return c, nil
}

// infer fills in directions that were left out.
func infer(objectives []tune.Objective) error {
	for i, o := range objectives {
		if o.Direction != "" {
			continue
		}
		direction, known := tune.DirectionOf(o.Name)
		if !known {
			return fmt.Errorf("study: objectives: %s: direction: missing, expected min or max, which does not follow from the name", o.Name)
		}
		objectives[i].Direction = direction
	}
	return nil
}

// override replaces a module's settings by those of its pipeline.
func override(c *tune.Config, by pipeline.Study) error {
	if by.Algorithm != nil {
		if overrideAlgorithm(&c.Algorithm, *by.Algorithm); by.Algorithm.Name != "" && c.Algorithm.EndsByItself() {
			c.MaxTrials = 0 // the module's limit was meant for another algorithm
		}
	}
	if by.Stopping != nil {
		overrideStopping(&c.Stopping, *by.Stopping)
	}
	if len(by.Objective) > 0 {
		c.Objectives = nil
		for _, o := range by.Objective {
			c.Objectives = append(c.Objectives, tune.Objective{Name: o.Name, Direction: tune.Direction(o.Direction)})
		}
	}
	for _, constraint := range by.Constraints {
		c.Constraints = slices.DeleteFunc(c.Constraints, func(own tune.Constraint) bool { return own.Name == constraint.Name })
		c.Constraints = append(c.Constraints, tune.Constraint{Name: constraint.Name, Max: constraint.Max, Min: constraint.Min})
	}
	c.MaxTrials = cmp.Or(by.MaxTrials, c.MaxTrials)
	c.MaxTime = cmp.Or(by.MaxTime.Duration(), c.MaxTime)
	c.Goal = cmp.Or(by.Goal, c.Goal)
	c.Patience = cmp.Or(by.Patience, c.Patience)
	c.MaxFailures = cmp.Or(by.MaxFailures, c.MaxFailures)
	if by.Retries != nil {
		c.Retries = *by.Retries
	}
	if by.Defaults != nil {
		c.Defaults = bool(*by.Defaults)
	}
	if by.Seed != nil {
		c.Seed = *by.Seed
	}
	if by.Validation != nil {
		c.Validation = tune.Validation{Folds: by.Validation.Folds, Order: by.Validation.Order}
	}
	points, err := pointsOf(c.Space, by.Points)
	c.Points = append(points, c.Points...)
	return err
}

func overrideAlgorithm(a *tune.Algorithm, by pipeline.Algorithm) {
	// Another algorithm, for which the module has no settings.
	if by.Name != "" && by.Name != a.Name {
		*a = tune.Algorithm{Name: by.Name}
	}
	a.MaxEpochs = cmp.Or(by.MaxEpochs, a.MaxEpochs)
	a.MinEpochs = cmp.Or(by.MinEpochs, a.MinEpochs)
	a.Factor = cmp.Or(by.Factor, a.Factor)
	a.Iterations = cmp.Or(by.Iterations, a.Iterations)
	a.InitialPoints = cmp.Or(by.InitialPoints, a.InitialPoints)
	a.Acquisition = cmp.Or(by.Acquisition, a.Acquisition)
	a.Beta = cmp.Or(by.Beta, a.Beta)
}

func overrideStopping(s *tune.Stopping, by pipeline.Stopping) {
	if by.Rule == pipeline.StoppingNone {
		*s = tune.Stopping{}
		return
	}
	s.Rule = cmp.Or(by.Rule, s.Rule)
	s.Percentile = cmp.Or(by.Percentile, s.Percentile)
	s.MinTrials = cmp.Or(by.MinTrials, s.MinTrials)
	s.MinStep = cmp.Or(by.MinStep, s.MinStep)
}

// pointsOf returns the points of a space that a file lists. Parameters that a point lacks have
// their defaults.
func pointsOf(s space.Space, given []map[string]any) (points []space.Values, err error) {
	for i, point := range given {
		for name := range point {
			if !slices.ContainsFunc(s, func(p space.Parameter) bool { return p.Name == name }) {
				return nil, fmt.Errorf("points[%d]: %s: unknown hyperparameter, expected some of %s", i, name, strings.Join(namesOf(s), ", "))
			}
		}
		var values space.Values
		text, err := json.Marshal(point)
		if err == nil {
			err = json.Unmarshal(text, &values)
		}
		if err != nil {
			return nil, fmt.Errorf("points[%d]: %w", i, err)
		}
		complete := s.Complete(values)
		if p, out := s.Outside(complete); out {
			value, _ := complete.Lookup(p.Name)
			return nil, fmt.Errorf("points[%d]: %s: %v is not in the space", i, p.Name, value)
		}
		points = append(points, complete)
	}
	return points, nil
}

func namesOf(s space.Space) (names []string) {
	for _, p := range s {
		names = append(names, p.Name)
	}
	return slices.Compact(names)
}
