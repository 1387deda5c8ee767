package suggest

import (
	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// randomly is the share of BOHB's configurations that are random, so that no result, however
// misleading at few epochs, keeps it from the best at many.
const randomly = 1. / 3

// bohb is Hyperband whose new configurations are not random but likely to be good (Falkner et al.,
// arXiv:1807.01774), according to the trials with the most epochs of which there are enough. Its
// brackets, sizes and promotions are Hyperband's. A suggestion depends on which trials have ended,
// and so on how fast the workers are.
func bohb(s *tune.Study) (tune.Suggestion, tune.Verdict, error) {
	d := newDeck(s)
	return newHalving(s, func(number int) (space.Values, bool) {
		stream := space.NewStream(s.Config.Seed, number)
		if number < len(d.opening) || stream.Float64("bohb", 0) < randomly {
			return d.deal(number)
		}
		if results := farthest(s); results != nil {
			if values, ok := likely(s, results, beginners(s), number); ok {
				return values, true
			}
		}
		return d.deal(number)
	}).next()
}

// farthest returns the results with the most epochs of which there are enough: in d dimensions d +
// 3, as in the paper, or the config's number. Unlike in the paper, results of fewer epochs are
// included, as bad ones: they have lost to those that continued. Otherwise all results would be
// near the best, and the estimator would avoid the region of the worse ones among them. It returns
// nil if there are nowhere enough.
func farthest(s *tune.Study) []result {
	ended, _ := parted(s.Trials)
	most := mostEpochs(s, completed(ended))
	if most == 0 {
		return nil
	}
	var there, fewer []*tune.Trial
	for _, t := range ended {
		switch {
		case t.Status == tune.Completed && t.Epochs == most:
			there = append(there, t)
		case t.Status != tune.Completed, t.Epochs < most:
			fewer = append(fewer, t)
		}
	}
	results := resultsOf(s, there)
	for _, t := range waiting(fewer, s.Trials) {
		results = append(results, result{values: t.Values})
	}
	return results
}

// mostEpochs returns the largest number of epochs that enough of the completed trials have; 0 if
// none have.
func mostEpochs(s *tune.Study, completed []*tune.Trial) (most int) {
	enough := initialPoints(s, len(s.Config.Space)+3)
	done := map[int]int{}
	for _, t := range completed {
		if done[t.Epochs]++; done[t.Epochs] >= enough {
			most = max(most, t.Epochs)
		}
	}
	return most
}

// beginners returns the running trials that are not promotions: whether they are good is not known
// yet.
func beginners(s *tune.Study) (beginners []*tune.Trial) {
	_, pending := parted(s.Trials)
	for _, t := range pending {
		if t.Parent == "" {
			beginners = append(beginners, t)
		}
	}
	return beginners
}
