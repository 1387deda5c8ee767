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

// algorithm is one way to choose a new trial.
type algorithm func(s *tune.Study) (tune.Suggestion, tune.Verdict, error)

// algorithms are all ways, by their names in a study's config.
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

// Next says what somebody who is free does: Try the suggestion, Wait for another trial to end, or
// nothing any more, Over. It is asked for new trials only: those whose try failed go before, see
// Study.Retry. An error is a fault of the study's config.
//
// First come the study's defaults and points, then what its algorithm says. A point that was tried
// in this study is not tried again.
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

// opened has an algorithm asked only behind the study's opening, and for no more trials than there
// may be. Those with rungs see to both themselves: their opening has a budget too, and a trial that
// goes on from another is not a new one.
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

// opening is what a study tries before its algorithm is asked: the defaults as its first trial,
// then its points, each once.
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

// tried are the keys of all values that were tried or are being tried.
func tried(s *tune.Study) map[string]bool {
	keys := make(map[string]bool, len(s.Trials))
	for _, t := range s.Trials {
		keys[t.Key()] = true
	}
	return keys
}

// open is a point of the opening that was not tried yet, which in a study goes before all else. As
// a rule those that were tried were so at once: the first trials are looked at first.
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

// draws is how often values are drawn before a finite space is gone through one by one.
const draws = 100

// random tries values that were not tried before, drawn evenly from their places, until there are
// none left.
func random(s *tune.Study) (tune.Suggestion, tune.Verdict, error) {
	values, ok := draw(s.Config.Space, space.NewStream(s.Config.Seed, number(s)), tried(s))
	if !ok {
		return tune.Suggestion{}, exhausted(s), nil
	}
	return tune.Suggestion{Values: values}, tune.Try, nil
}

// number is that of the next trial, counted on from those that an older study has found: with the
// same seed it would draw their values again.
func number(s *tune.Study) int { return len(s.Config.Earlier) + len(s.Trials) }

// draw is random values whose key is not among those of had; false if there are none.
func draw(in space.Space, stream space.Stream, had map[string]bool) (space.Values, bool) {
	for n := range draws {
		values := in.Fill(func(p space.Parameter) any { return p.At(stream.Float64(p.Name, n)) })
		if !had[values.Key()] {
			return values, true
		}
	}
	return pick(in, stream, had)
}

// pick is one of the points of a finite space that had lacks, each as likely as any other. Of a
// space of more than a million, whose draws do not fail while there are many left, it is the first.
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
// odometer, the parameter registered last fastest, each one's default before its other values. What
// is next is the first point that was not tried, whoever tried the others and in which order; so
// points of parameters that are found later come in their places.
func grid(s *tune.Study) (tune.Suggestion, tune.Verdict, error) {
	had := tried(s)
	for values := range s.Config.Space.Walk(fromDefault) {
		if !had[values.Key()] {
			return tune.Suggestion{Values: values}, tune.Try, nil
		}
	}
	return tune.Suggestion{}, exhausted(s), nil
}

// fromDefault goes through the grid values of a parameter, its default first.
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

// exhausted says what there is to do where all was tried: to wait while a trial may still find
// another parameter, else nothing.
func exhausted(s *tune.Study) tune.Verdict {
	if len(s.Running()) > 0 {
		return tune.Wait
	}
	return tune.Over
}
