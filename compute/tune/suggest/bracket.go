package suggest

import "math"

// bracket is one successive halving: many trials of few epochs, of which the best go on for more.
type bracket struct {
	number int // how many times its trials are halved
	offset int // of its first configuration among those of all brackets
	rounds []round
}

// round is one rung of it: so many trials, each from one epoch to another.
type round struct{ size, from, epochs int }

// brackets are Hyperband's (Li et al., arXiv:1603.06560) in KerasTuner's numbers, the one that
// halves most first. With R for the epochs of the last round and f for the factor there are as many
// as R, R/f, R/f² ... have terms of 1 or more, and of bracket b, round r is
//
//	size(b, r)   = ceil((1 + ceil(ln R / ln f)) / (b + 1) * f^(b-r))
//	epochs(b, r) = ceil(R / f^(b-r))
//
// and begins where round r-1 ended. Divisions are in float64, as Python's are. The logarithm is
// rounded up exactly: that of a power of the factor is a whole number, which a quotient of floats
// may miss. (KerasTuner's does for 16807 and 7, and has a level more.)
func brackets(maxEpochs, factor int) (all []bracket, configurations int) {
	levels, number := 1, -1
	for epochs := 1.0; epochs < float64(maxEpochs); epochs *= float64(factor) {
		levels++
	}
	for epochs := float64(maxEpochs); epochs >= 1; epochs /= float64(factor) {
		number++
	}
	for ; number >= 0; number-- {
		b := newBracket(number, levels, float64(maxEpochs), float64(factor))
		b.offset = configurations
		configurations += b.rounds[0].size
		all = append(all, b)
	}
	return all, configurations
}

func newBracket(number, levels int, maxEpochs, factor float64) bracket {
	b := bracket{number: number}
	share := float64(levels) / float64(number+1)
	from := 0
	for r := range number + 1 {
		times := math.Pow(factor, float64(number-r))
		epochs := int(math.Ceil(maxEpochs / times))
		b.rounds = append(b.rounds, round{int(math.Ceil(share * times)), from, epochs})
		from = epochs
	}
	return b
}
