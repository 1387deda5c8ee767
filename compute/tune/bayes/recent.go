package bayes

import (
	"cmp"
	"math"
	"slices"
)

const (
	most  = 1500 // observations that a model is made of: it takes time by their square
	steps = 100  // observations that are let go at a time, so that most models are those before and a point more
	cream = 100  // of those that are let go, the best stay
)

// recent is what was seen without what says little by now: of more than most, the oldest that are
// not among their best.
func recent(all []Seen) []Seen {
	if len(all) <= most {
		return all
	}
	over := (len(all) - most + steps - 1) / steps * steps
	old := slices.Clone(all[:over+cream])
	slices.SortStableFunc(old, func(a, b Seen) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Score, b.Score))
	})
	return append(old[:cream:cream], all[over+cream:]...)
}

// rank is 0 of what is allowed, 1 of what is not, 2 of what has no score.
func rank(seen Seen) int {
	switch {
	case math.IsNaN(seen.Score):
		return 2
	case !seen.allowed():
		return 1
	}
	return 0
}
