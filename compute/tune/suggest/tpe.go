package suggest

import (
	"math"
	"math/rand/v2"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// attempts to draw values that were not tried, before random ones are.
const attempts = 10

// parzen is the tree-structured Parzen estimator (Bergstra et al. 2011, arXiv:2304.11127): random
// trials at first, then such as are likely where good ones are, and not where the others are.
// Trials that failed, or can't be tried, are bad ones, and so are those that run still, since
// another one like them would add nothing new (the constant liar of Ginsbourger et al. 2010).
// Values that break constraints are worse than any that keep to them. Of several objectives those
// are good that no others beat (Ozaki et al. 2020).
func parzen(s *tune.Study) (tune.Suggestion, tune.Verdict, error) {
	ended, pending := parted(s.Trials)
	results := resultsOf(s, append(earlier(s), ended...))
	if len(results) < initialPoints(s, startUp) {
		return random(s)
	}
	values, ok := likely(s, results, pending, len(s.Trials))
	if !ok {
		return random(s)
	}
	return tune.Suggestion{Values: values}, tune.Try, nil
}

// parted are the trials that have ended, and those that have not.
func parted(trials []*tune.Trial) (ended, pending []*tune.Trial) {
	for _, t := range trials {
		if unsettled([]*tune.Trial{t}) {
			pending = append(pending, t)
		} else {
			ended = append(ended, t)
		}
	}
	return ended, pending
}

// likely are values that results speak for, for the trial of a number; false if they are always the
// same ones that were tried.
func likely(s *tune.Study, results []result, pending []*tune.Trial, number int) (space.Values, bool) {
	m := newModel(s.Config.Space, append(results, resultsOf(s, pending)...))
	stream, had := space.NewStream(s.Config.Seed, number), tried(s)
	uniform := rand.New(rand.NewPCG(math.Float64bits(stream.Float64("tpe", 0)), math.Float64bits(stream.Float64("tpe", 1)))).Float64
	for range attempts {
		if values := m.draw(uniform); !had[values.Key()] {
			return values, true
		}
	}
	return nil, false
}
