package suggest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/stoker-ml/stoker/compute/tune"
)

// algorithm is one way to choose a new trial.
type algorithm func(s *tune.Study) (tune.Suggestion, tune.Verdict, error)

// algorithms are all ways, by their names in a study's config.
func algorithms() map[string]algorithm {
	return map[string]algorithm{
		tune.Random:    opened(random),
		tune.Grid:      opened(grid),
		tune.Hyperband: hyperband,
		tune.ASHA:      asha,
		tune.Bayesian:  opened(bayesian),
		tune.TPE:       opened(parzen),
		tune.BOHB:      bohb,
	}
}

// Next says what somebody who is free does: Try the suggestion, Wait for another trial to end, or
// nothing any more, Over. It is asked for new trials only: those whose try failed go before, see
// Study.Retry. An error is a fault of the study's config.
//
// First come the study's defaults and points, then what its algorithm says. A point that was tried
// in this study is not tried again.
func Next(s *tune.Study) (tune.Suggestion, tune.Verdict, error) {
	if s.Entries == 0 {
		return tune.Suggestion{}, tune.Over, errors.New("suggest: the study has not begun: it has no config")
	}
	name := s.Config.Algorithm.Name
	choose, known := algorithms()[name]
	switch {
	case !known:
		names := strings.Join(tune.Algorithms(), ", ")
		return tune.Suggestion{}, tune.Over, fmt.Errorf("algorithm: name: expected one of %s, got %q", names, name)
	case s.Finished != nil:
		return tune.Suggestion{}, tune.Over, nil
	}
	return choose(s)
}

// opened has an algorithm asked only behind the study's opening, and for no more trials than there
// may be. Those with rungs see to both themselves: their opening has a budget too, and a trial that
// goes on from another is not a new one.
func opened(choose algorithm) algorithm {
	return func(s *tune.Study) (tune.Suggestion, tune.Verdict, error) {
		if s.Remaining() == 0 {
			return tune.Suggestion{}, tune.Over, nil
		}
		if values, ok := open(s); ok {
			return tune.Suggestion{Values: values}, tune.Try, nil
		}
		return choose(s)
	}
}
