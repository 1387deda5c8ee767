package quality

import (
	"context"
	"reflect"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/compute/tune"
)

// LeftOut is two searches of one table with one seed: Cold knows nothing, and Warm knows a study of
// each other table with the same space.
type LeftOut struct {
	Cold, Warm Run
}

// olderTrials is how many trials a study of another table has.
const olderTrials = 50

// LeaveOneOut searches each table cold and warm, with seeds from 1 on, several at once. The older
// studies are made by TPE with other seeds, and are new for each seed. A table that shares its
// space with no other is left out. The order is that of the tables, and then of seeds.
func LeaveOneOut(ctx context.Context, tables []Problem, algorithm tune.Algorithm, seeds, trials int) ([]LeftOut, error) {
	tables = slices.DeleteFunc(slices.Clone(tables), func(p Problem) bool { return len(siblings(tables, p)) == 0 })
	all := make([]LeftOut, len(tables)*seeds)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.NumCPU())
	for i, p := range tables {
		for seed := range seeds {
			group.Go(func() (err error) {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				earlier, err := olderStudies(siblings(tables, p), seed+1)
				if err != nil {
					return err
				}
				at := &all[i*seeds+seed]
				if at.Cold, _, err = SearchAfter(p.Function, algorithm, seed+1, trials, nil); err != nil {
					return err
				}
				at.Warm, _, err = SearchAfter(p.Function, algorithm, seed+1, trials, earlier)
				return err
			})
		}
	}
	return all, group.Wait()
}

// siblings returns the other tables with the same space.
func siblings(tables []Problem, of Problem) (others []Problem) {
	for _, p := range tables {
		if p.Name != of.Name && reflect.DeepEqual(p.Space, of.Space) {
			others = append(others, p)
		}
	}
	return others
}

// olderStudies returns the trials of a study of each table.
func olderStudies(tables []Problem, seed int) (earlier []tune.Earlier, err error) {
	for i, p := range tables {
		_, study, err := SearchAfter(p.Function, tune.Algorithm{Name: tune.TPE}, 1000*(i+1)+seed, olderTrials, nil)
		if err != nil {
			return nil, err
		}
		for _, t := range study.Best() {
			earlier = append(earlier, tune.Earlier{Values: t.Values, Metrics: t.Metrics, Study: i + 1})
		}
	}
	return earlier, nil
}
