package suggest

import (
	"cmp"
	"math"
	"slices"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/bayes"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// bayesian tries values that are spread evenly in the space, then those that a model of the
// observations rates best: see compute/tune/bayes. Failed trials count as the worst, running ones
// with their predictions, and constraints by the probability that they hold. With several
// objectives each trial optimizes one mixture of them, and the mixtures are spread evenly: see mix.
func bayesian(s *tune.Study) (tune.Suggestion, tune.Verdict, error) {
	search := searchOf(s)
	if len(search.Seen) < initialPoints(s, startUp) {
		if values, ok := proven(s); ok {
			return tune.Suggestion{Values: values}, tune.Try, nil
		}
		even := space.NewStream(s.Config.Seed, 0)
		for _, values := range bayes.Spread(s.Config.Space, even, number(s), spares) {
			if !search.Had[values.Key()] {
				return tune.Suggestion{Values: values}, tune.Try, nil
			}
		}
		return random(s)
	}
	values, ok, err := search.Propose()
	if err != nil {
		return tune.Suggestion{}, tune.Over, err
	}
	if !ok {
		return random(s)
	}
	return tune.Suggestion{Values: values}, tune.Try, nil
}

// spares is how many points of the sequence are examined for one that was not tried.
const spares = 8

// startUp is the default number of results before there is a model.
const startUp = 10

// initialPoints returns how many results are needed before there is a model: the config's number,
// else rule.
func initialPoints(s *tune.Study, rule int) int {
	return cmp.Or(s.Config.Algorithm.InitialPoints, rule)
}

// searchOf returns what is known of a study.
func searchOf(s *tune.Study) bayes.Search {
	search := bayes.Search{Space: s.Config.Space, Had: tried(s), Stream: space.NewStream(s.Config.Seed, len(s.Trials))}
	if a := s.Config.Algorithm; a.Acquisition == tune.UCB {
		search.Beta = a.Beta
	}
	for _, results := range sources(s) {
		study := make([]bayes.Seen, len(results))
		for i, r := range results {
			study[i] = bayes.Seen{Values: r.values, Score: r.scores[0]}
		}
		search.Earlier = append(search.Earlier, study)
	}
	seen, pending := lately(s)
	search.Pending = pending
	scores := make([][]float64, len(seen))
	for i, t := range seen {
		if t.Status == tune.Completed {
			scores[i] = s.Turned(t)
		}
		search.Seen = append(search.Seen, bayes.Seen{Values: t.Values, Excess: excess(s, t.Metrics)})
	}
	for i, score := range mix(scores, len(s.Config.Objectives), search.Stream) {
		search.Seen[i].Score = score
	}
	return search
}

// lately returns the trials of an older study and then those that have ended, in the order of their
// ends, and the values of those that have not.
func lately(s *tune.Study) (ended []*tune.Trial, pending []space.Values) {
	ended, running := parted(s.Trials)
	for _, t := range running {
		pending = append(pending, t.Values)
	}
	ended = append(earlier(s), ended...)
	slices.SortStableFunc(ended, func(a, b *tune.Trial) int { return cmp.Compare(a.Since(), b.Since()) })
	return ended, pending
}

// excess returns by how much metrics violate each constraint; NaN if the metric is missing.
func excess(s *tune.Study, metrics map[string]float64) []float64 {
	by := make([]float64, len(s.Config.Constraints))
	for i, c := range s.Config.Constraints {
		value, there := metrics[c.Name]
		by[i] = math.Inf(-1)
		if c.Max != nil {
			by[i] = max(by[i], value-*c.Max)
		}
		if c.Min != nil {
			by[i] = max(by[i], *c.Min-value)
		}
		if !there || math.IsInf(by[i], 0) {
			by[i] = math.NaN()
		}
	}
	return by
}
