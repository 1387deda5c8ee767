package suggest

import (
	"iter"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

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
