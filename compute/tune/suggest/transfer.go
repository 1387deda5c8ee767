package suggest

import (
	"slices"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// Older studies of other data are learned from in two ways. Their best values are among the first
// trials (Feurer et al. 2015, AAAI). Then each is a source of predictions, whose weight is the rank
// correlation of what it predicts for this study's trials with their results (the idea of Feurer et
// al. 2018, arXiv:1802.02219): a study that says nothing about this one has no weight, and the
// search goes on as if it did not exist.

// Limits of what is learned from: the time of a suggestion grows with it.
const (
	MostSources      = 8   // older studies, the newest
	MostOfEachSource = 100 // results of each
)

// fewestOfASource is how many results a study must have to be learned from.
const fewestOfASource = 5

// sources returns the results of older studies of other data, the newest study first, each from its
// best result to its worst. With several objectives there are none.
func sources(s *tune.Study) (all [][]result) {
	if len(s.Config.Objectives) > 1 {
		return nil
	}
	var studies []int
	for _, e := range s.Config.Earlier {
		if e.Study > 0 && !slices.Contains(studies, e.Study) && len(studies) < MostSources {
			studies = append(studies, e.Study)
		}
	}
	slices.Sort(studies)
	for _, study := range studies {
		results := slices.DeleteFunc(resultsOf(s, earlierOf(s, study)), func(r result) bool { return r.broken > 0 })
		if len(results) < fewestOfASource {
			continue
		}
		var sorted []result
		for _, i := range Evenly(ranking(results), MostOfEachSource) {
			sorted = append(sorted, results[i])
		}
		all = append(all, sorted)
	}
	return all
}

// Evenly returns at most so many of a list, evenly from the first on.
func Evenly[T any](list []T, most int) []T {
	most = min(most, len(list))
	some := make([]T, most)
	for i := range some {
		some[i] = list[i*len(list)/most]
	}
	return some
}

// proven returns values that were the best of an older study and were not tried in this one; false
// if it is not the turn of these: every second of the first trials has them, the others do not, in
// case all of them mislead.
func proven(s *tune.Study) (space.Values, bool) {
	if len(s.Trials)%2 == 1 {
		return nil, false
	}
	from, had := sources(s), tried(s)
	for rank := range fewestOfASource {
		for _, results := range from {
			if values := results[rank].values; !had[values.Key()] {
				return values, true
			}
		}
	}
	return nil, false
}
