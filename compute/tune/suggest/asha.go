package suggest

import (
	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// asha is asynchronous successive halving in its promoting form (Li et al., arXiv:1810.05934,
// algorithm 2). Its rungs end at min_epochs, min_epochs * factor and so on up to max_epochs. A free
// participant searches the rungs from the top for a trial among the best floor(n/factor) of the n
// that completed its rung and that was not promoted yet; if there is none it begins a new one in
// the lowest rung. So no participant waits while new trials may be begun, and a lost trial delays
// none.
//
// MaxTrials counts configurations: a promotion continues one. When no more may be begun the rungs
// are closed from below: if floor(n/factor) is 0, the best continues all the same, so that a small
// search too has a trial of max_epochs. A trial that fails after its promotion gives its place to
// the next best.
func asha(s *tune.Study) (tune.Suggestion, tune.Verdict, error) {
	return newLadder(s, newDeck(s).deal).next()
}

// ladder is a study as a list of rungs.
type ladder struct {
	study *tune.Study
	deal  func(number int) (space.Values, bool) // as in halving
	rungs []round                               // their sizes are not used
	begun [][]*tune.Trial                       // trials of each rung
}

func newLadder(s *tune.Study, deal func(int) (space.Values, bool)) ladder {
	config := s.Config.Algorithm
	l := ladder{study: s, deal: deal}
	for from, epochs := 0, config.MinEpochs; ; epochs *= config.Factor {
		epochs = min(epochs, config.MaxEpochs)
		l.rungs = append(l.rungs, round{from: from, epochs: epochs})
		if epochs == config.MaxEpochs {
			break
		}
		from = epochs
	}
	l.begun = make([][]*tune.Trial, len(l.rungs))
	for _, t := range s.Trials {
		if t.Round < len(l.rungs) {
			l.begun[t.Round] = append(l.begun[t.Round], t)
		}
	}
	return l
}

func (l ladder) next() (tune.Suggestion, tune.Verdict, error) {
	for r := len(l.rungs) - 2; r >= 0; r-- {
		if parent := l.promotable(r, 0); parent != nil {
			return l.promote(r+1, parent), tune.Try, nil
		}
	}
	if values, ok := l.configuration(); ok {
		return l.suggestion(0, values), tune.Try, nil
	}
	return l.close()
}

// close returns what to do when no new trial may be begun and none is promotable. A rung below
// which nothing runs gets no more trials: at least one of its trials continues.
func (l ladder) close() (tune.Suggestion, tune.Verdict, error) {
	for r, trials := range l.begun {
		switch {
		case unsettled(trials):
			return tune.Suggestion{}, tune.Wait, nil
		case r == len(l.rungs)-1:
			continue
		}
		if parent := l.promotable(r, 1); parent != nil {
			return l.promote(r+1, parent), tune.Try, nil
		}
	}
	return tune.Suggestion{}, tune.Over, nil
}

// configuration returns the next new one; false if there may be none.
func (l ladder) configuration() (space.Values, bool) {
	if l.study.Remaining() == 0 {
		return nil, false
	}
	return l.deal(len(l.begun[0]))
}

// promotable returns the best trial of a rung that may continue and was not promoted yet: of n
// completed ones, if F that continued have failed, these are the best floor(n/factor) + F, or at
// least least.
func (l ladder) promotable(r, least int) *tune.Trial {
	done, above := completed(l.begun[r]), l.begun[r+1]
	places := max(len(done)/l.study.Config.Algorithm.Factor, least) + len(above) - len(alive(above))
	goOn := ordered(l.study, done)[:min(places, len(done))]
	if left := waiting(goOn, above); len(left) > 0 {
		return left[0]
	}
	return nil
}

func (l ladder) promote(r int, parent *tune.Trial) tune.Suggestion {
	return promoted(l.suggestion(r, unbudgeted(parent.Values)), parent)
}

// suggestion returns a trial of a rung. ASHA is a single bracket, the one that halves most.
func (l ladder) suggestion(r int, values space.Values) tune.Suggestion {
	bracket := len(l.rungs) - 1
	return budgeted(values, l.rungs[r], place{bracket: bracket, round: r})
}
