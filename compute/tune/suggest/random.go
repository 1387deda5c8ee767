package suggest

import (
	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

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
