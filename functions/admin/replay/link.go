package replay

import (
	"cmp"
	"slices"

	"github.com/stoker-ml/stoker/storage"
)

// order sorts the steps by when their runs were completed. Of two steps of one run, the one that
// other runs need comes first, so that the run's own model is announced last.
func order(steps []Step) {
	slices.SortFunc(steps, func(a, b Step) int {
		return cmp.Or(cmp.Compare(a.completed, b.completed), cmp.Compare(a.Pipeline, b.Pipeline), cmp.Compare(a.Run.Run, b.Run.Run),
			cmp.Compare(rank(a), rank(b)))
	})
}

func rank(s Step) int {
	if s.fetched {
		return 0
	}
	return 1
}

// link determines which steps wait for the outcomes of others. A run starts when the model that it
// starts from, and the hyperparameters that it trains with, exist again. A run has one job at a
// time. And the run whose model is the newest of its pipeline is announced last, so that "latest"
// means the same afterwards. The steps are in their order.
func link(steps []Step, latest map[string]Run) {
	maker := map[storage.Place]int{}
	for i, step := range steps {
		if step.Action == Train || step.Action == Tune {
			maker[step.makes] = i
		}
	}
	for i, step := range steps {
		for _, needed := range []storage.Place{step.startsFrom, step.trainsWith} {
			if by, ok := maker[needed]; ok && !step.idle() && by != i {
				steps[i].needs = append(steps[i].needs, by)
				steps[i].wait(by)
			}
		}
		if i > 0 && steps[i-1].Run == step.Run {
			steps[i].wait(i - 1)
		}
	}
	for i, step := range steps {
		switch {
		case step.Action == Join && step.WaitsFor == nil: // "latest" is not pinned for it yet
			waitForAll(steps, i, func(other Step) bool { return other.Action == Train })
		case step.Action == Train && !step.fetched && latest[step.Pipeline] == step.Run:
			waitForAll(steps, i, func(other Step) bool { return other.Action == Train || other.Action == Offer })
		}
	}
	for i := range steps {
		for _, before := range steps[i].after {
			steps[i].After = append(steps[i].After, steps[before].Run)
		}
	}
}

func (s *Step) wait(before int) {
	if !slices.Contains(s.after, before) {
		s.after = append(s.after, before)
	}
}

// waitForAll makes step number last wait for all steps of its pipeline that pick selects, except
// those that wait for it.
func waitForAll(steps []Step, last int, pick func(Step) bool) {
	waits := dependents(steps, last)
	for i, other := range steps {
		if pick(other) && other.Pipeline == steps[last].Pipeline && !waits[i] {
			steps[last].wait(i)
		}
	}
}

// dependents returns a step, and all that wait for it or for another dependent.
func dependents(steps []Step, of int) map[int]bool {
	found := map[int]bool{of: true}
	for before := 0; before != len(found); {
		before = len(found)
		for i, step := range steps {
			if slices.ContainsFunc(step.after, func(on int) bool { return found[on] }) {
				found[i] = true
			}
		}
	}
	return found
}
