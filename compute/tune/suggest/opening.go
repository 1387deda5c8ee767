package suggest

import (
	"slices"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

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
