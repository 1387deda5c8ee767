package main

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/infra/bench/quality"
)

// tuneSeeds is how many searches of each function there are, by each algorithm: as many as of the
// peers were recorded.
const tuneSeeds = 20

// tuneTrials is how long a search is; the best is looked at after each of tuneMarks.
const tuneTrials = 100

var tuneMarks = []int{50, 100}

// tune measures how good suggestions are, compared with those of KerasTuner and Optuna, and what
// they cost.
func (b bench) tune(ctx context.Context) ([]figure, error) {
	recorded, err := quality.Recorded()
	if err != nil {
		return nil, err
	}
	functions := append(quality.Known(), taxiFunction(ctx))
	ours, err := b.searches(ctx, functions)
	if err != nil {
		return nil, err
	}
	r := result{functions: functions, ours: ours, recorded: recorded}
	if err := r.table(b.log); err != nil {
		return nil, err
	}
	cost, err := b.suggestions(ctx)
	return append(r.figures(), cost...), err
}

// tuneAlgorithms are those that make sense without epochs, at their defaults.
func tuneAlgorithms() []string { return []string{tune.Bayesian, tune.TPE, tune.Random} }

// search is one of the searches to do.
type search struct {
	function  quality.Function
	algorithm string
	seed      int
}

// searches are run on all cores, one a core. They come back by algorithm.
func (b bench) searches(ctx context.Context, functions []quality.Function) (map[string][]quality.Run, error) {
	var group errgroup.Group
	group.SetLimit(runtime.NumCPU())
	var mu sync.Mutex
	runs := map[string][]quality.Run{}
	for _, s := range b.planned(functions) {
		group.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			run, err := s.run(ctx)
			mu.Lock()
			defer mu.Unlock()
			runs[s.algorithm] = append(runs[s.algorithm], run)
			return err
		})
	}
	return runs, group.Wait()
}

func (b bench) planned(functions []quality.Function) (all []search) {
	for _, f := range functions {
		for _, algorithm := range tuneAlgorithms() {
			for seed := range b.times(tuneSeeds) {
				all = append(all, search{f, algorithm, seed + 1})
			}
		}
	}
	return all
}

// run searches in this process; the taxi model is trained in another one, as peers have it trained.
func (s search) run(ctx context.Context) (run quality.Run, err error) {
	searching := func(f quality.Function) error {
		run, err = quality.Search(f, tune.Algorithm{Name: s.algorithm}, s.seed, tuneTrials)
		return err
	}
	if s.function.Name != taxi {
		return run, searching(s.function)
	}
	self, err := os.Executable()
	if err != nil {
		return run, err
	}
	return run, quality.WithServed(s.function, exec.CommandContext(ctx, self, serveObjective, taxi), searching)
}
