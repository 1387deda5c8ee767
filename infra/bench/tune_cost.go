package main

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/compute/tune/suggest"
	"github.com/stoker-ml/stoker/infra/bench/quality"
)

//go:embed tune_cost.py
var kerasOracle string

// kerasTuner is how figures of cost name the peer.
const kerasTuner = "KerasTuner 1.4.8"

// costFunction is what suggestions are made for: six variables.
const costFunction = "hartmann6"

// costRounds is how many studies are suggested for at each size.
const costRounds = 3

// longTrials is the length of the search over which a suggestion's cost is averaged.
const longTrials = 1000

// suggestions measures the CPU time of one suggestion, ours and that of KerasTuner's Bayesian
// oracle for the same trials. Ours is that of a worker that has never seen the study; -average
// figures are over a whole search, where a worker has.
func (b bench) suggestions(ctx context.Context) (all []figure, err error) {
	f, err := quality.Find(quality.Known(), costFunction)
	if err != nil {
		return nil, err
	}
	err = withTensorFlow(ctx, 1, b.log, func(peer *tensorflow) error {
		for _, size := range []struct {
			trials int
			goal   string
		}{{50, ""}, {100, "< 0.1"}, {200, ""}} {
			figures, err := b.suggestionsAt(ctx, f, size.trials, size.goal, peer)
			if err != nil {
				return err
			}
			all = append(all, figures...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	average, err := averages(ctx, f)
	return append(all, average...), err
}

// suggestionsAt measures all after so many trials.
func (b bench) suggestionsAt(ctx context.Context, f quality.Function, trials int, goal string, peer *tensorflow) ([]figure, error) {
	var done []observed
	ours := func(algorithm string) func(int) (float64, error) {
		return func(round int) (float64, error) { return suggestion(f, algorithm, round+1, done) }
	}
	bayesian := func(round int) (_ float64, err error) {
		if done, err = randomTrials(f, trials, round+1); err != nil {
			return 0, err
		}
		return ours(tune.Bayesian)(round)
	}
	m, err := compare(ctx, b.times(costRounds), false,
		contender{oursName, bayesian},
		contender{tune.TPE, ours(tune.TPE)},
		contender{peerName, func(int) (float64, error) { return kerasSuggestion(peer, f, done) }})
	if err != nil {
		return nil, err
	}
	name := func(algorithm string) string { return fmt.Sprintf("tune-cost-%s-%d", algorithm, trials) }
	return []figure{
		m.cost(name(tune.Bayesian), cpuSeconds, goal, kerasTuner),
		alone(name(tune.TPE), cpuSeconds, m[tune.TPE].quantile(0.5), m[tune.TPE], ""),
	}, nil
}

// observed is a trial and its value.
type observed struct {
	Values space.Values `json:"values"`
	Value  float64      `json:"value"`
}

// randomTrials are trials for any algorithm.
func randomTrials(f quality.Function, n, seed int) (all []observed, err error) {
	for trial := range n {
		stream := space.NewStream(int64(seed), trial)
		values := f.Space.Fill(func(p space.Parameter) any { return p.At(stream.Float64(p.Name, 0)) })
		y, err := f.At(values)
		if err != nil {
			return nil, err
		}
		all = append(all, observed{values, y})
	}
	return all, nil
}

// suggestion is the CPU time of the first suggestion that is asked for behind some trials.
func suggestion(f quality.Function, algorithm string, seed int, trials []observed) (seconds float64, err error) {
	s, err := quality.Begin(f, tune.Algorithm{Name: algorithm}, seed, 2*len(trials))
	if err != nil {
		return 0, err
	}
	for _, t := range trials {
		if err := quality.Add(s, tune.Suggestion{Values: t.Values}, t.Value); err != nil {
			return 0, err
		}
	}
	return cpuOf(func() error {
		_, _, err := suggest.Next(s)
		return err
	})
}

// kerasSuggestion is the same by KerasTuner.
func kerasSuggestion(peer *tensorflow, f quality.Function, trials []observed) (seconds float64, err error) {
	in := struct {
		Space  space.Space `json:"space"`
		Trials []observed  `json:"trials"`
	}{f.Space, trials}
	var ignored any
	if _, err := peer.call(kerasOracle, "begin", in, &ignored); err != nil {
		return 0, err
	}
	return peer.call(kerasOracle, "suggest", nil, &ignored)
}

// averages are over a long search: with every suggestion the next one has more to look at.
func averages(ctx context.Context, f quality.Function) (all []figure, err error) {
	for _, search := range []struct {
		algorithm string
		trials    int
		goal      string
	}{{tune.Bayesian, tuneTrials, ""}, {tune.Bayesian, longTrials, "< 1"}, {tune.TPE, tuneTrials, ""}, {tune.TPE, longTrials, ""}} {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		seconds, err := cpuOf(func() error {
			_, err := quality.Search(f, tune.Algorithm{Name: search.algorithm}, 1, search.trials)
			return err
		})
		if err != nil {
			return nil, err
		}
		each := samples{seconds / float64(search.trials)}
		name := fmt.Sprintf("tune-cost-%s-average-%d", search.algorithm, search.trials)
		all = append(all, alone(name, cpuSeconds, each[0], each, search.goal))
	}
	return all, nil
}

// cpuOf is the CPU time that this process spends while something is done.
func cpuOf(do func() error) (seconds float64, err error) {
	before, err := ownCPU()
	if err != nil {
		return 0, err
	}
	if err := do(); err != nil {
		return 0, err
	}
	after, err := ownCPU()
	return after - before, err
}
