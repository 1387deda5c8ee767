package tune

import (
	"cmp"
	"math"
	"slices"
)

// Score returns the value by which a trial is judged, for the first objective: its best value over
// the steps if they were reported, or with validation the last one (see Config.Judged), else its
// metric; false if it has none. Reports of failed tries do not count.
func (s *Study) Score(t *Trial) (float64, bool) {
	if len(s.Config.Objectives) == 0 {
		return 0, false
	}
	return s.Config.scoreOf(s.Config.Objectives[0], t.Curves, t.Metrics)
}

// Scores returns a trial's scores for all objectives; NaN for those that it lacks.
func (s *Study) Scores(t *Trial) []float64 {
	scores := make([]float64, len(s.Config.Objectives))
	for i, o := range s.Config.Objectives {
		score, there := s.Config.scoreOf(o, t.Curves, t.Metrics)
		if !there {
			score = math.NaN()
		}
		scores[i] = score
	}
	return scores
}

// Turned returns a trial's scores, negated where more is better, so that less is better in each;
// NaN for those that it lacks.
func (s *Study) Turned(t *Trial) []float64 {
	scores := s.Scores(t)
	for i, o := range s.Config.Objectives {
		if o.Direction == Max {
			scores[i] = -scores[i]
		}
	}
	return scores
}

func (s *Study) score(t *Trial) float64 {
	score, _ := s.Score(t)
	return score
}

// scoreOf returns the value by which a curve is judged, else the metric. Values that are not
// numbers don't count.
func (c Config) scoreOf(o Objective, curves map[string][]Point, metrics map[string]float64) (float64, bool) {
	if p, there := c.Judged(o, curves[o.Name]); there {
		return p.Value, true
	}
	value, there := metrics[o.Name]
	return value, there
}

// Feasible reports whether a trial satisfies the constraints. It does not if it doesn't report a
// metric that is constrained.
func (s *Study) Feasible(t *Trial) bool {
	for _, c := range s.Config.Constraints {
		value, there := t.Metrics[c.Name]
		if !there || c.Max != nil && !(value <= *c.Max) || c.Min != nil && !(value >= *c.Min) {
			return false
		}
	}
	return true
}

// folds returns how many folds a trial's score is the mean of; 0 in a study without validation.
// Trials of more folds come first, whatever their scores: of many trials with one fold, the best is
// the one whose fold was the easiest.
func (s *Study) folds(t *Trial) int {
	if s.Config.Validation.Folds == 0 {
		return 0
	}
	return t.Step
}

// Best returns the completed trials that satisfy the constraints, the best first; of equal ones the
// one that was begun first. With validation, trials of more folds are before those of fewer. With
// several objectives, those that no other trial dominates come first, then those that only such
// trials dominate, and so on; each group is sorted by the first objective.
func (s *Study) Best() []*Trial {
	return slices.Concat(s.fronts()...)
}

// Pareto returns the best trials: those for which no other is better in one objective and as good
// in all. With one objective it is one trial.
func (s *Study) Pareto() []*Trial {
	fronts := s.fronts()
	switch {
	case len(fronts) == 0:
		return nil
	case len(s.Config.Objectives) == 1:
		return fronts[0][:1]
	}
	return fronts[0]
}

// fronts returns the judged trials in their order; with one objective all of the same number of
// folds are in one front.
func (s *Study) fronts() (fronts [][]*Trial) {
	judged := s.judged()
	slices.SortStableFunc(judged, func(a, b *Trial) int { return cmp.Compare(s.folds(b), s.folds(a)) })
	for len(judged) > 0 {
		n := 1
		for n < len(judged) && s.folds(judged[n]) == s.folds(judged[0]) {
			n++
		}
		fronts = append(fronts, s.frontsOf(slices.Clip(judged[:n]))...)
		judged = judged[n:]
	}
	return fronts
}

func (s *Study) frontsOf(trials []*Trial) (fronts [][]*Trial) {
	sorted := s.sorted(trials)
	if len(s.Config.Objectives) == 1 {
		return [][]*Trial{sorted}
	}
	points := make([][]float64, len(sorted))
	for i, t := range sorted {
		points[i] = s.Turned(t)
	}
	for _, front := range Fronts(points) {
		var trials []*Trial
		for _, i := range front {
			trials = append(trials, sorted[i])
		}
		fronts = append(fronts, trials)
	}
	return fronts
}

// sorted sorts trials by the first objective, and looks up each score only once.
func (s *Study) sorted(trials []*Trial) []*Trial {
	scores := make(map[*Trial]float64, len(trials))
	for _, t := range trials {
		scores[t] = s.score(t)
		if s.Config.Objectives[0].Direction == Max {
			scores[t] = -scores[t]
		}
	}
	slices.SortStableFunc(trials, func(a, b *Trial) int { return cmp.Compare(scores[a], scores[b]) })
	return trials
}

// Leader returns the completed trial that satisfies the constraints and is best by the first
// objective, with validation among those of the most folds, of equal ones the one that was begun
// first; nil if there is none. Unlike Best its time does not grow with the study.
func (s *Study) Leader() *Trial {
	if s.leader == 0 {
		return nil
	}
	return s.Trials[s.leader-1]
}

func (s *Study) judged() (judged []*Trial) {
	for _, t := range s.Trials {
		if t.Status == Completed && s.Feasible(t) {
			judged = append(judged, t)
		}
	}
	return judged
}

func (s *Study) compare(a, b *Trial) int {
	if more := cmp.Compare(s.folds(b), s.folds(a)); more != 0 {
		return more
	}
	better := s.Config.Objectives[0].Direction.Better
	switch of, than := s.score(a), s.score(b); {
	case better(of, than):
		return -1
	case better(than, of):
		return 1
	}
	return 0
}

// Rivals reports whether a trial that is completed in this way satisfies the constraints, and none
// before it is better in the first objective.
func (s *Study) Rivals(e Ended) bool {
	trial := &Trial{Metrics: e.Metrics, Curves: e.Curves, Step: e.Step}
	best := s.Leader()
	return s.Feasible(trial) && (best == nil || s.compare(best, trial) >= 0)
}

// improves reports whether a trial that is completed in this way is better than all before it; with
// several objectives, that none dominates it.
func (s *Study) improves(e *Ended) bool {
	trial := &Trial{Metrics: e.Metrics, Curves: e.Curves, Step: e.Step}
	if !s.Feasible(trial) {
		return false
	}
	if len(s.Config.Objectives) == 1 {
		best := s.Leader()
		return best == nil || s.compare(trial, best) < 0
	}
	scores := s.Turned(trial)
	return !slices.ContainsFunc(s.judged(), func(t *Trial) bool {
		than := s.Turned(t)
		return s.folds(t) > s.folds(trial) || s.folds(t) == s.folds(trial) && (dominates(than, scores) || slices.Equal(than, scores))
	})
}

// Fronts sorts points of several scores, less being better in each, as NSGA-II does (Deb et al.
// 2002): the first front has those that no other dominates, the second those that only points of
// the first dominate, and so on. A front has the points' indices, in ascending order. NaN is worse
// than any number.
func Fronts(points [][]float64) (fronts [][]int) {
	left := make([]int, len(points))
	for i := range left {
		left[i] = i
	}
	for len(left) > 0 {
		var front, later []int
		for _, i := range left {
			dominated := func(by int) bool { return dominates(points[by], points[i]) }
			if slices.ContainsFunc(left, dominated) {
				later = append(later, i)
			} else {
				front = append(front, i)
			}
		}
		fronts, left = append(fronts, front), later
	}
	return fronts
}

// dominates reports whether a is as good as b in all scores and better in one.
func dominates(a, b []float64) bool {
	better := false
	for i := range a {
		if below(b[i], a[i]) {
			return false
		}
		better = better || below(a[i], b[i])
	}
	return better
}

// below returns a < b, with NaN above all numbers, so that no points dominate each other in a
// circle.
func below(a, b float64) bool { return a < b || math.IsNaN(b) && !math.IsNaN(a) }
