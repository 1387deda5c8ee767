package replay

import (
	"cmp"
	"slices"
)

// order puts the steps in the order in which their runs were completed.
func order(steps []Step) {
	slices.SortFunc(steps, func(a, b Step) int {
		return cmp.Or(cmp.Compare(a.completed, b.completed), cmp.Compare(a.Pipeline, b.Pipeline), cmp.Compare(a.Run.Run, b.Run.Run))
	})
}

// link says which steps come after the outcome of others. A run starts when the model that it starts from is there again. And the
// run whose model is the newest of its pipeline is told of last, so that "latest" means the same afterwards.
func link(steps []Step, bases map[Run]model, latest map[string]Run) {
	maker := map[model]Run{}
	for _, step := range steps {
		if step.Action == Train {
			maker[step.makes] = step.Run
		}
	}
	for i := range steps {
		step := &steps[i]
		if step.Action == Join && step.WaitsFor == nil {
			step.After = append(step.After, makers(steps, step.Pipeline)...) // its base model is not pinned yet
		}
		if base, ok := maker[bases[step.Run]]; ok && step.Action != Leave && base != step.Run {
			step.base = &base
			step.After = append(step.After, base)
		}
	}
	for i := range steps {
		if steps[i].Action == Train && latest[steps[i].Pipeline] == steps[i].Run {
			afterOthers(steps, i)
		}
	}
}

// makers are the runs of a pipeline whose models are made again.
func makers(steps []Step, pipeline string) (runs []Run) {
	for _, step := range steps {
		if step.Action == Train && step.Pipeline == pipeline {
			runs = append(runs, step.Run)
		}
	}
	return runs
}

// afterOthers lets step number last wait for all that make a model of the same pipeline, but for those that wait for it.
func afterOthers(steps []Step, last int) {
	needs := dependents(steps, steps[last].Run)
	for _, other := range steps {
		makes := other.Action == Train || other.Action == Offer
		if makes && other.Pipeline == steps[last].Pipeline && !needs[other.Run] && !slices.Contains(steps[last].After, other.Run) {
			steps[last].After = append(steps[last].After, other.Run)
		}
	}
}

// dependents are a run, and all that start from its model or from that of another dependent.
func dependents(steps []Step, of Run) map[Run]bool {
	found := map[Run]bool{of: true}
	for before := 0; before != len(found); {
		before = len(found)
		for _, step := range steps {
			if step.base != nil && found[*step.base] {
				found[step.Run] = true
			}
		}
	}
	return found
}
