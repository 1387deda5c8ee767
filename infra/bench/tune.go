package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/infra/bench/quality"
)

const (
	// Searches of each function by each algorithm: as many as were recorded of the peers.
	tuneSeeds  = 20
	tuneTrials = 100 // of a search
)

// tuneMarks are the numbers of trials after which the best value is compared.
var tuneMarks = []int{50, 100}

// tuneAlgorithms are those that make sense without epochs, at their defaults.
var tuneAlgorithms = []string{tune.Bayesian, tune.TPE, tune.Random}

// tunePart measures how good suggestions are, compared with those of KerasTuner and Optuna, and
// what they cost: the CPU time of one by a worker that has never seen the study, and over a whole
// search ("average").
func tunePart() part {
	functions := append(quality.Known(), taxiFunction(context.Background()))
	var single, average []spec
	for _, trials := range []int{50, 100, 200} {
		cost := func(algorithm string) spec {
			name := fmt.Sprintf("%s-%d", algorithm, trials)
			return spec{name: "tune-cost-" + name, unit: cpuSeconds, of: name + " cpu-s"}
		}
		bayesian := cost(tune.Bayesian)
		bayesian.goal = map[int]string{100: "< 0.1"}[trials]
		bayesian.peers = []peer{{name: "KerasTuner 1.4.8", series: fmt.Sprintf("keras-%d cpu-s", trials)}}
		single = append(single, bayesian, cost(tune.TPE))
	}
	for _, search := range []struct{ name, goal string }{{"bayesian-100", ""}, {"bayesian-1000", "< 1"}, {"tpe-100", ""}, {"tpe-1000", ""}} {
		algorithm, trials, _ := strings.Cut(search.name, "-")
		average = append(average, spec{name: "tune-cost-" + algorithm + "-average-" + trials, unit: cpuSeconds, of: search.name + " cpu-s", goal: search.goal})
	}
	return part{"tune", []group{
		{figures: result{functions: functions}.specs(), measure: measureQuality},
		benchmarkGroup("infra/bench/quality", "BenchmarkSuggestion", 3, 1, single...),
		benchmarkGroup("infra/bench/quality", "BenchmarkSearch", 1, 1, average...),
	}}
}

func measureQuality(ctx context.Context, b bench) ([]figure, error) {
	recorded, err := quality.Recorded(quality.OfFunctions)
	if err != nil {
		return nil, err
	}
	functions := append(quality.Known(), taxiFunction(ctx))
	ours, err := b.searches(ctx, functions)
	if err != nil {
		return nil, err
	}
	r := result{functions: functions, ours: ours, recorded: recorded}
	return r.figures(), r.table(b.log)
}

// searches runs all searches, one a core, and returns them by algorithm.
func (b bench) searches(ctx context.Context, functions []quality.Function) (map[string][]quality.Run, error) {
	var group errgroup.Group
	group.SetLimit(runtime.NumCPU())
	var mu sync.Mutex
	runs := map[string][]quality.Run{}
	for _, f := range functions {
		for _, algorithm := range tuneAlgorithms {
			for seed := range b.times(tuneSeeds) {
				group.Go(func() error {
					if ctx.Err() != nil {
						return context.Cause(ctx)
					}
					run, err := searchFunction(ctx, f, algorithm, seed+1)
					mu.Lock()
					defer mu.Unlock()
					runs[algorithm] = append(runs[algorithm], run)
					return err
				})
			}
		}
	}
	return runs, group.Wait()
}

// searchFunction searches in this process; the taxi model is trained in another one, as for peers.
func searchFunction(ctx context.Context, f quality.Function, algorithm string, seed int) (run quality.Run, err error) {
	search := func(f quality.Function) error {
		run, err = quality.Search(f, tune.Algorithm{Name: algorithm}, seed, tuneTrials)
		return err
	}
	if f.Name != taxi {
		return run, search(f)
	}
	self, err := os.Executable()
	if err != nil {
		return run, err
	}
	return run, quality.WithServed(f, exec.CommandContext(ctx, self, serveObjective, taxi), search)
}

// objective evaluates a function until in ends. See quality.Serve.
func objective(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) == 2 {
		p, err := quality.ReadProblem(args[0], args[1])
		if err != nil {
			return err
		}
		return quality.Serve(p.Function, in, out)
	}
	if len(args) != 1 {
		return errors.New(serveObjective + ": expected the name of one function, or of a table and its file")
	}
	f, err := quality.Find(append(quality.Known(), taxiFunction(ctx)), args[0])
	if err != nil {
		return err
	}
	return quality.Serve(f, in, out)
}

// result is all searches: ours by algorithm, the peers' by sampler.
type result struct {
	functions []quality.Function
	ours      map[string][]quality.Run
	recorded  map[string]quality.Recording
}

// rival is a peer that an algorithm is compared with, by one or more of its samplers: the better
// one in each cell counts.
type rival struct {
	name     string
	samplers []string
}

func rivals(algorithm string) []rival {
	if algorithm == tune.Random {
		return []rival{{"Optuna", []string{quality.OptunaRandom}}, {"KerasTuner", []string{quality.KerasRandom}}}
	}
	return []rival{{"Optuna", []string{quality.OptunaGP, quality.OptunaTPE}}, {"KerasTuner", []string{quality.KerasBayesian}}}
}

// cell is the best value of a function after so many trials, of one algorithm and one rival.
type cell struct {
	function  quality.Function
	trials    int
	algorithm string
	rival     rival
}

func (r result) cells() (all []cell) {
	for _, f := range r.functions {
		for _, trials := range tuneMarks {
			for _, algorithm := range tuneAlgorithms {
				for _, rival := range rivals(algorithm) {
					all = append(all, cell{f, trials, algorithm, rival})
				}
			}
		}
	}
	return all
}

func (c cell) name() string {
	return fmt.Sprintf("tune-%s-%d-%s-%s", c.function.Name, c.trials, c.algorithm, strings.ToLower(c.rival.name))
}

// specs returns the figures of all cells, for the list.
func (r result) specs() (all []spec) {
	for _, c := range r.cells() {
		all = append(all, spec{name: c.name(), unit: bestValue, peers: []peer{{name: strings.Join(c.rival.samplers, " or ") + ", recorded"}}})
	}
	return all
}

// compare compares our best values with those of the rival's sampler whose median is best.
func (r result) compare(c cell) (sampler string, _ quality.Comparison, ours []float64) {
	var theirs []float64
	for _, candidate := range c.rival.samplers {
		values := quality.After(r.recorded[candidate].Runs, c.function.Name, c.trials)
		if len(theirs) == 0 || len(values) > 0 &&
			c.function.Direction.Better(quality.QuartilesOf(values).Median, quality.QuartilesOf(theirs).Median) {
			sampler, theirs = candidate, values
		}
	}
	ours = quality.After(r.ours[c.algorithm], c.function.Name, c.trials)
	return sampler, quality.Compare(ours, theirs, c.function.Direction), ours
}

// figures compare the medians with each rival's.
func (r result) figures() (all []figure) {
	for _, c := range r.cells() {
		sampler, compared, ours := r.compare(c)
		f := figure{
			Name: c.name(), Unit: bestValue, Ours: compared.Ours.Median, PeerName: noPeer,
			Spread: samples(ours).spread(), Rounds: len(ours), Verdict: string(compared.Verdict),
		}
		if compared.Verdict != quality.Unknown {
			f.Peer, f.PeerName = &compared.Peer.Median, fmt.Sprintf("%s, seeds: %d", sampler, compared.Peer.N)
		}
		all = append(all, f)
	}
	return all
}

// table shows the quartiles of every sampler, and for ours the interval of the difference to each
// rival.
func (r result) table(w io.Writer) error {
	fmt.Fprintf(w, "best value: median [lower quartile, upper quartile]; of ours the %.0f %% interval of the difference of medians "+
		"(percentile bootstrap, %d resamples)\n", 100*quality.Level, quality.Resamples)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range r.functions {
		for _, trials := range tuneMarks {
			fmt.Fprintf(t, "%s after %d\tbest there is\t%s\n", f.Name, trials, precise(f.Best))
			for _, algorithm := range tuneAlgorithms {
				fmt.Fprintf(t, "\t%s\t%s\n", algorithm, r.comparisons(f, trials, algorithm))
			}
			for _, sampler := range slices.Sorted(maps.Keys(r.recorded)) {
				if theirs := quality.After(r.recorded[sampler].Runs, f.Name, trials); len(theirs) > 0 {
					fmt.Fprintf(t, "\t%s\t%s\trecorded\n", sampler, quartiles(quality.QuartilesOf(theirs)))
				}
			}
		}
	}
	return t.Flush()
}

// comparisons describes how an algorithm compares with its rivals.
func (r result) comparisons(f quality.Function, trials int, algorithm string) (text string) {
	for i, rival := range rivals(algorithm) {
		sampler, compared, _ := r.compare(cell{f, trials, algorithm, rival})
		if i == 0 {
			text = quartiles(compared.Ours) + "\t"
		}
		if compared.Verdict != quality.Unknown {
			text += fmt.Sprintf("%s %s [%s, %s]  ", sampler, compared.Verdict, precise(compared.Low), precise(compared.High))
		}
	}
	return text
}

func quartiles(q quality.Quartiles) string {
	return fmt.Sprintf("%s [%s, %s] of %d", precise(q.Median), precise(q.Low), precise(q.High), q.N)
}

// precise has the digits by which good searches differ.
func precise(x float64) string {
	if math.IsNaN(x) {
		return "unknown"
	}
	return fmt.Sprintf("%.5g", x)
}
