package tune

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune/space"
)

// The best trial is remembered, not searched for: in whatever order trials end, with whatever
// scores, it is the first of Best.
func TestTheBestIsTheFirstOfBest(t *testing.T) {
	t.Parallel()
	random, limit := rand.New(rand.NewPCG(1, 2)), 2.0
	for _, direction := range []Direction{Min, Max} {
		s := Study{}
		apply := func(e Entry) {
			t.Helper()
			if err := s.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
		apply(Entry{Begun: &Begun{Config: Config{Algorithm: Algorithm{Name: Random}, Parallel: 5, MaxTrials: 300, Retries: 1, MaxFailures: 300,
			Space:      space.Space{{Name: "x", Kind: space.Float, Max: 1}},
			Objectives: []Objective{{"score", direction}}, Constraints: []Constraint{{Name: "size", Max: &limit}}}}})
		for s.Remaining() > 0 {
			for worker := range 5 {
				if owner := (Owner{Job: strconv.Itoa(worker)}); s.Of(owner.Job) == nil && s.Remaining() > 0 {
					apply(Entry{Started: []Started{{Trial: s.NextID(), Owner: owner, Suggestion: &Suggestion{}}}})
				}
			}
			one := s.Running()[random.IntN(len(s.Running()))]
			status := []Status{Completed, Completed, Completed, Failed, Infeasible}[random.IntN(5)]
			apply(Entry{Ended: &Ended{Trial: one.ID, Owner: one.Owner, Status: status,
				Metrics: map[string]float64{"score": float64(random.IntN(40)), "size": float64(random.IntN(4))}}})
			if best := s.Best(); len(best) > 0 && s.Leader() != best[0] || len(best) == 0 && s.Leader() != nil {
				t.Fatalf("%s, after %s: expected %v, got %v", direction, one.ID, best, s.Leader())
			}
		}
	}
}
