package suggest

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// algorithm is a way to choose a new trial.
type algorithm func(s *tune.Study) (tune.Suggestion, tune.Verdict, error)

// algorithms returns all algorithms, by their names in a study's config.
func algorithms() map[string]algorithm {
	return map[string]algorithm{
		tune.Random:    opened(random),
		tune.Grid:      opened(grid),
		tune.Hyperband: hyperband,
		tune.ASHA:      asha,
		tune.Bayesian:  opened(bayesian),
		tune.TPE:       opened(parzen),
		tune.BOHB:      bohb,
	}
}

// Next tells a free participant what to do: Try the suggestion, Wait for another trial to end, or
// stop, Over. It is for new trials only: retries have precedence, see Study.Retry. An error is a
// fault of the study's config.
//
// The study's defaults and points come first, then the algorithm's suggestions. A point that was
// tried in this study is not tried again.
func Next(s *tune.Study) (tune.Suggestion, tune.Verdict, error) {
	if s.Entries == 0 {
		return tune.Suggestion{}, tune.Over, errors.New("suggest: the study has not begun: it has no config")
	}
	name := s.Config.Algorithm.Name
	choose, known := algorithms()[name]
	switch {
	case !known:
		names := strings.Join(tune.Algorithms(), ", ")
		return tune.Suggestion{}, tune.Over, fmt.Errorf("algorithm: name: expected one of %s, got %q", names, name)
	case s.Finished != nil:
		return tune.Suggestion{}, tune.Over, nil
	}
	return choose(s)
}

// opened calls an algorithm only after the study's opening, and for no more trials than allowed.
// Algorithms with rungs do both themselves: their opening has a budget too, and a trial that
// continues another is not a new one.
func opened(choose algorithm) algorithm {
	return func(s *tune.Study) (tune.Suggestion, tune.Verdict, error) {
		if s.Remaining() == 0 {
			return tune.Suggestion{}, tune.Over, nil
		}
		if values, ok := open(s); ok {
			return tune.Suggestion{Values: values}, tune.Try, nil
		}
		return choose(s)
	}
}

// opening returns what a study tries before its algorithm is called: the defaults as its first
// trial, then its points, each once.
func opening(s *tune.Study) (points []space.Values) {
	given := s.Config.Points
	if s.Config.Defaults {
		given = append([]space.Values{nil}, given...)
	}
	known := map[string]bool{}
	for _, point := range given {
		values := s.Config.Space.Complete(point)
		if key := values.Key(); !known[key] {
			known[key] = true
			points = append(points, values)
		}
	}
	return points
}

// tried returns the keys of all values that were tried or are being tried.
func tried(s *tune.Study) map[string]bool {
	keys := make(map[string]bool, len(s.Trials))
	for _, t := range s.Trials {
		keys[t.Key()] = true
	}
	return keys
}

// open returns a point of the opening that was not tried yet; these come first in a study. Usually
// they were tried at once, so the first trials are searched first.
func open(s *tune.Study) (space.Values, bool) {
	for _, values := range opening(s) {
		key := values.Key()
		had := func(t *tune.Trial) bool { return t.Key() == key }
		if !slices.ContainsFunc(s.Trials, had) {
			return values, true
		}
	}
	return nil, false
}

// draws is how often values are drawn before a finite space is searched point by point.
const draws = 100

// random tries values that were not tried before, drawn uniformly from their places, until there
// are none left.
func random(s *tune.Study) (tune.Suggestion, tune.Verdict, error) {
	values, ok := draw(s.Config.Space, space.NewStream(s.Config.Seed, number(s)), tried(s))
	if !ok {
		return tune.Suggestion{}, exhausted(s), nil
	}
	return tune.Suggestion{Values: values}, tune.Try, nil
}

// number returns the number of the next trial, including those of an older study: otherwise the
// same seed would draw their values again.
func number(s *tune.Study) int { return len(s.Config.Earlier) + len(s.Trials) }

// draw returns random values whose key is not in had; false if there are none.
func draw(in space.Space, stream space.Stream, had map[string]bool) (space.Values, bool) {
	for n := range draws {
		values := in.Fill(func(p space.Parameter) any { return p.At(stream.Float64(p.Name, n)) })
		if !had[values.Key()] {
			return values, true
		}
	}
	return pick(in, stream, had)
}

// pick returns one of the points of a finite space that had lacks, each equally likely. In a space
// of more than a million points, where draws rarely fail, it returns the first.
func pick(in space.Space, stream space.Stream, had map[string]bool) (space.Values, bool) {
	left := 1
	if in.Size() > 0 {
		left = 0
		for values := range in.Points() {
			if !had[values.Key()] {
				left++
			}
		}
	}
	skip := int(stream.Float64("a point that is left", 0) * float64(left))
	for values := range in.Points() {
		if had[values.Key()] {
			continue
		}
		if skip == 0 {
			return values, true
		}
		skip--
	}
	return nil, false
}

// grid tries every point of a grid in KerasTuner's order: the defaults first, then like an
// odometer, the parameter registered last fastest, each one's default before its other values. The
// next trial is the first point that was not tried, in whatever order the others were tried; so
// points of parameters that are found later come in their order.
func grid(s *tune.Study) (tune.Suggestion, tune.Verdict, error) {
	had := tried(s)
	for values := range s.Config.Space.Walk(fromDefault) {
		if !had[values.Key()] {
			return tune.Suggestion{Values: values}, tune.Try, nil
		}
	}
	return tune.Suggestion{}, exhausted(s), nil
}

// fromDefault iterates over the grid values of a parameter, its default first.
func fromDefault(p space.Parameter) iter.Seq[any] {
	return func(yield func(any) bool) {
		start := p.Start()
		if !yield(start) {
			return
		}
		for value := range p.Grid() {
			if value != start && !yield(value) {
				return
			}
		}
	}
}

// exhausted returns what to do if everything was tried: wait while a trial may still find another
// parameter, else stop.
func exhausted(s *tune.Study) tune.Verdict {
	if len(s.Running()) > 0 {
		return tune.Wait
	}
	return tune.Over
}
