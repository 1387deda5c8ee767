package suggest

import (
	"math"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// hyperband is KerasTuner's: its brackets, sizes and epochs, and promotions that do not wait for
// the whole round. A trial is promoted as soon as it is certainly among the best of its round;
// meanwhile others fill the next bracket. So a promotion is never wrong, and the order in which
// trials end affects only the duration: the same trials are promoted in any case, because a
// bracket's configurations are drawn by their place in it and not by the trial's number. (With
// several objectives this does not hold: which known trials are the best may change with each that
// ends.)
//
// It differs in handling failures. A configuration that fails, or can't be tried, is replaced by
// another, at most as many as the round has places; and a trial that fails after its promotion
// gives its place to the next best. So rounds have their sizes unless a finite space, MaxTrials or
// endless failures leave a bracket short: then it halves what it has.
func hyperband(s *tune.Study) (tune.Suggestion, tune.Verdict, error) {
	d := newDeck(s)
	return newHalving(s, d.deal).next()
}

// halving is a study as a list of brackets.
type halving struct {
	study *tune.Study
	// deal returns a configuration by its number among all; false if there is none.
	deal  func(number int) (space.Values, bool)
	begun map[place][]*tune.Trial
}

// place is a round of a study.
type place struct{ iteration, bracket, round int }

func newHalving(s *tune.Study, deal func(int) (space.Values, bool)) *halving {
	h := &halving{study: s, deal: deal, begun: map[place][]*tune.Trial{}}
	for _, t := range s.Trials {
		at := place{t.Iteration, t.Bracket, t.Round}
		h.begun[at] = append(h.begun[at], t)
	}
	return h
}

// next goes through the brackets in their order, and uses the first that has something to do.
func (h *halving) next() (tune.Suggestion, tune.Verdict, error) {
	config := h.study.Config.Algorithm
	all, configurations := brackets(config.MaxEpochs, config.Factor)
	for iteration := range config.Iterations {
		for _, b := range all {
			b.offset += iteration * configurations
			open := running{halving: h, bracket: b, iteration: iteration, spare: config.Iterations*configurations + b.offset}
			if suggestion, ok := open.next(); ok {
				return suggestion, tune.Try, nil
			}
		}
		if len(h.begun[place{iteration, all[0].number, 0}]) == 0 {
			break // if nothing can be begun here, neither can it later
		}
	}
	if unsettled(h.study.Trials) {
		return tune.Suggestion{}, tune.Wait, nil
	}
	return tune.Suggestion{}, tune.Over, nil
}

// running is the progress of a bracket in one iteration.
type running struct {
	*halving
	bracket
	iteration int
	spare     int // number of its first replacement among all configurations
}

// next returns the next trial of the bracket: a new configuration until its first round is full,
// then promotions.
func (b running) next() (tune.Suggestion, bool) {
	if suggestion, ok := b.begin(); ok {
		return suggestion, true
	}
	size := len(alive(b.trials(0)))
	for r := 1; r < len(b.rounds); r++ {
		places := b.places(r, size)
		if parent := b.promotable(r, size, places); parent != nil {
			return b.promote(r, parent), true
		}
		size = places
	}
	return tune.Suggestion{}, false
}

func (b running) trials(r int) []*tune.Trial {
	return b.halving.begun[place{b.iteration, b.number, r}]
}

// begin returns a new configuration, or the replacement of one that failed.
func (b running) begin() (tune.Suggestion, bool) {
	begun, size := len(b.trials(0)), b.rounds[0].size
	number := b.offset + begun
	if begun >= size {
		number = b.spare + begun - size
	}
	if b.study.Remaining() == 0 || len(alive(b.trials(0))) >= size || begun >= 2*size {
		return tune.Suggestion{}, false
	}
	values, ok := b.deal(number)
	if !ok {
		return tune.Suggestion{}, false
	}
	return b.suggestion(0, values), true
}

// places returns how many trials of a round are to succeed, if the round before has so many. It is
// the schedule's number, and for a bracket that is short the same share of what it has:
// ceil(ceil(x)/f) is ceil(x/f), so both are one rule.
func (b running) places(r, before int) int {
	places := b.rounds[r].size
	if before != b.rounds[r-1].size {
		places = min(places, int(math.Ceil(float64(before)/float64(b.study.Config.Algorithm.Factor))))
	}
	return min(places, len(alive(b.trials(r)))+len(alive(waiting(b.trials(r-1), b.trials(r)))))
}

// promotable returns the best trial of the round before r that is certainly among those to promote.
// With n places in the round before, k in r and F failures among the promoted, the best k + F are
// promoted. So the best of the completed trials that were not promoted yet is one of them if these
// are more than n - k - F: even if all later trials are better, it is among the best k + F. (A
// failed trial that is worse was promoted rightly, and then so is this one.)
func (b running) promotable(r, n, k int) *tune.Trial {
	now := b.trials(r)
	succeeding := len(alive(now))
	failed := len(now) - succeeding
	left := completed(waiting(b.trials(r-1), now))
	if succeeding >= k || len(left) <= n-k-failed {
		return nil
	}
	return ordered(b.study, left)[0]
}

func (b running) promote(r int, parent *tune.Trial) tune.Suggestion {
	return promoted(b.suggestion(r, unbudgeted(parent.Values)), parent)
}

func (b running) suggestion(r int, values space.Values) tune.Suggestion {
	return budgeted(values, b.rounds[r], place{b.iteration, b.number, r})
}

// bracket is one successive halving: many trials of few epochs, of which the best continue for
// more.
type bracket struct {
	number int // how many times its trials are halved
	offset int // number of its first configuration among those of all brackets
	rounds []round
}

// round is one rung of a bracket: so many trials, each from one epoch to another.
type round struct{ size, from, epochs int }

// brackets returns Hyperband's brackets (Li et al., arXiv:1603.06560) with KerasTuner's numbers,
// the one that halves most first. With R for the epochs of the last round and f for the factor,
// their number is that of terms of 1 or more among R, R/f, R/f² ..., and round r of bracket b has
//
//	size(b, r)   = ceil((1 + ceil(ln R / ln f)) / (b + 1) * f^(b-r))
//	epochs(b, r) = ceil(R / f^(b-r))
//
// and begins where round r-1 ended. Divisions are in float64, as in Python. The logarithm is
// rounded up exactly: that of a power of the factor is a whole number, which a quotient of floats
// may miss. (KerasTuner's does for 16807 and 7, and has one more level.)
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

// deck deals a study's configurations by number: first the opening's, then random ones, none twice.
// The configuration of a number depends only on the space and the seed, and not on what was tried
// before it, so parallel trials get the same ones in any order.
type deck struct {
	study   *tune.Study
	opening []space.Values
	finite  bool
}

func newDeck(s *tune.Study) *deck { return &deck{s, opening(s), s.Config.Space.Size() > 0} }

// deal returns the configuration of a number; false if the space has fewer.
func (d *deck) deal(number int) (space.Values, bool) {
	if number < len(d.opening) {
		return d.opening[number], true
	}
	number -= len(d.opening)
	values, ok := d.random(number)
	if !ok {
		return nil, false
	}
	if had := tried(d.study); had[values.Key()] { // only in a space that has grown meanwhile
		return draw(d.study.Config.Space, space.NewStream(d.study.Config.Seed, number), had)
	}
	return values, true
}

// random draws a configuration. In a finite space it also draws all before it, because none of them
// may be repeated; in an infinite one repetitions don't occur.
func (d *deck) random(number int) (values space.Values, ok bool) {
	had := map[string]bool{}
	for _, values := range d.opening {
		had[values.Key()] = true
	}
	from := number
	if d.finite {
		from = 0
	}
	for n := from; n <= number; n++ {
		if values, ok = draw(d.study.Config.Space, space.NewStream(d.study.Config.Seed, n), had); !ok {
			return nil, false
		}
		had[values.Key()] = true
	}
	return values, true
}
