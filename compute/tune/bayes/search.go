package bayes

import (
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// Search is what is known when values are to be proposed.
type Search struct {
	Space   space.Space
	Seen    []Seen          // in the order in which it was seen: kernels are fitted to a beginning of it
	Pending []space.Values  // being tried
	Had     map[string]bool // keys of the values that are not proposed
	Stream  space.Stream    // of the trial to be
	Beta    float64         // values are judged by mean - Beta deviations, not by expected improvement. 0: they are not
}

// Seen is what came of values.
type Seen struct {
	Values space.Values
	Score  float64   // less is better; NaN where nothing came of them, which is as bad as the worst
	Excess []float64 // of each constraint, by how much it is broken: it holds at 0 and below. NaN where that is not known
}

// allowed says whether all constraints hold.
func (s Seen) allowed() bool {
	for _, excess := range s.Excess {
		if !(excess <= 0) {
			return false
		}
	}
	return true
}
