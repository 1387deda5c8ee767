package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// Importance is how much of the scores' variation one parameter explains, from 0 to 1, by two
// measures.
type Importance struct {
	Parameter string  `json:"parameter"`
	Share     float64 `json:"share"`     // of the variance of a random forest: functional ANOVA
	Explained float64 `json:"explained"` // epsilon squared of the trials themselves
	Trials    int     `json:"trials"`    // completed trials in which it was active
}

// Explanation is how much of the scores' variation the parameters explain.
type Explanation struct {
	Parameters []Importance `json:"parameters"` // the most important first
	// How well the forest predicts trials that it was not fitted to: R^2, 0 if it does not. Shares
	// of a forest that predicts little mean little.
	Fit    float64 `json:"fit"`
	Trials int     `json:"trials"` // completed trials
}

// Explain returns the importance of the parameters of a study by functional ANOVA (fitForest), and
// beside it by what the trials say without a model (explain). Both are of the first objective, and
// of a parameter alone: what several explain only together is not included. Its time is bounded for
// studies of any size, and it has the same result for the same study.
func Explain(s *tune.Study) Explanation {
	ranks := scoresOf(s)
	e := Explanation{Parameters: explain(s, ranks), Trials: len(ranks)}
	f, _ := fitForest(s, ranks)
	e.Fit = f.fit
	for i := range e.Parameters {
		e.Parameters[i].Share = f.shares[e.Parameters[i].Parameter]
	}
	slices.SortFunc(e.Parameters, func(a, b Importance) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(b.Explained, a.Explained), cmp.Compare(a.Parameter, b.Parameter))
	})
	return e
}

// bins is the number of groups of equal size into which the values of a number are sorted.
const bins = 6

// explain returns for each parameter how much of the order of the scores it explains. Trials are
// grouped by its value, numbers by their rank into up to 6 groups, and scores also count by their
// rank, so that a trial that diverged only counts as the last one. The variation between the
// groups' means is compared with the whole variation, minus the part that is due to chance:
//
//	epsilon^2 = 1 - (SS_within / (n - k)) / (SS_total / (n - 1))
//
// (Kelley 1935; of ranks: Kruskal and Wallis 1952)
//
// for n trials in k groups, and 0 if that is negative. A search that concentrates on good values
// makes parameters that it has settled seem less important. With fewer than 2 k trials there is no
// result.
func explain(s *tune.Study, ranks map[string]float64) []Importance {
	list := []Importance{}
	for name, scored := range byParameter(s, ranks) {
		if explained, ok := explained(scored); ok {
			list = append(list, Importance{Parameter: name, Explained: explained, Trials: len(scored)})
		}
	}
	return list
}

// scored is the value of a parameter in one trial, and the rank of that trial's score.
type scored struct {
	value any
	score float64
}

// scoresOf returns the ranks of the completed trials' scores, from 1; equal ones have the mean of
// theirs.
func scoresOf(s *tune.Study) map[string]float64 {
	type of struct {
		trial string
		score float64
	}
	var sorted []of
	for _, t := range s.Trials {
		if score, there := s.Score(t); there && t.Status == tune.Completed {
			sorted = append(sorted, of{t.ID, score})
		}
	}
	slices.SortFunc(sorted, func(a, b of) int { return cmp.Compare(a.score, b.score) })
	ranks := make(map[string]float64, len(sorted))
	for from := 0; from < len(sorted); {
		to := from + 1
		for to < len(sorted) && sorted[to].score == sorted[from].score {
			to++
		}
		for _, one := range sorted[from:to] {
			ranks[one.trial] = float64(from+1+to) / 2
		}
		from = to
	}
	return ranks
}

func byParameter(s *tune.Study, scores map[string]float64) map[string][]scored {
	fixed := map[string]bool{}
	for _, p := range s.Config.Space {
		fixed[p.Name] = p.Kind == space.Fixed
	}
	all := map[string][]scored{}
	for _, t := range s.Trials {
		score, there := scores[t.ID]
		if !there {
			continue
		}
		for _, value := range t.Values {
			if isFixed, known := fixed[value.Name]; known && !isFixed {
				all[value.Name] = append(all[value.Name], scored{value.Of, score})
			}
		}
	}
	return all
}

// explained returns epsilon squared of one parameter; false if there are too few trials.
func explained(all []scored) (float64, bool) {
	groups := grouped(all)
	n, k := float64(len(all)), float64(len(groups))
	if len(all) < 2*len(groups) || len(groups) < 2 {
		return 0, false
	}
	var within float64
	for _, group := range groups {
		within += spread(group)
	}
	total := spread(all)
	if total == 0 {
		return 0, true
	}
	return max(0, 1-(within/(n-k))/(total/(n-1))), true
}

// spread returns the sum of squares about the mean.
func spread(all []scored) (squares float64) {
	var mean float64
	for _, one := range all {
		mean += one.score // ranks are multiples of a half, whose sum is exact
	}
	mean /= float64(len(all))
	for _, one := range all {
		squares += (one.score - mean) * (one.score - mean)
	}
	return squares
}

// grouped sorts trials by their values: equal ones are never in two groups.
func grouped(all []scored) (groups [][]scored) {
	numbers := !slices.ContainsFunc(all, func(one scored) bool { _, ok := Number(one.value); return !ok })
	if !numbers {
		byValue := map[string][]scored{}
		for _, one := range all {
			name := fmt.Sprint(one.value)
			byValue[name] = append(byValue[name], one)
		}
		for _, group := range byValue {
			groups = append(groups, group)
		}
		return groups
	}
	all = slices.Clone(all)
	value := func(one scored) float64 { v, _ := Number(one.value); return v }
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(value(a), value(b)) })
	for from := 0; from < len(all); {
		to := min(len(all), (len(groups)+1)*len(all)/bins)
		to = max(to, from+1)
		for to < len(all) && value(all[to]) == value(all[to-1]) {
			to++
		}
		groups = append(groups, all[from:to])
		from = to
	}
	return groups
}

// Number returns a value as a number; false for a string or a bool.
func Number(value any) (float64, bool) {
	switch v := value.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}
