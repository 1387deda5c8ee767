package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/infra/bench/quality"
)

const (
	tableSeeds  = 20  // searches of each problem by each searcher
	tableTrials = 200 // of a search; recorded ones have fewer
)

// tableMarks are the numbers of trials after which regret is compared.
var tableMarks = []int{20, 50, 100, 200}

// tableAlgorithms are ours that are compared.
var tableAlgorithms = []string{tune.Bayesian, tune.TPE, tune.Random}

// Peers: those that take minutes run along with ours, those that take hours were recorded.
var (
	alongOnTables    = []string{quality.OptunaTPE}
	recordedOnTables = []string{quality.OptunaGP, quality.HEBO, quality.SMAC, quality.KerasBayesian}
)

// tableRivals are the peers that an algorithm is compared with in figures: the best one counts.
var tableRivals = map[string][]string{
	tune.Bayesian: slices.Concat(alongOnTables, recordedOnTables),
	tune.TPE:      {quality.OptunaTPE},
}

// rankedSuites are the sets of problems over which ranks are averaged.
var rankedSuites = []string{"all", string(quality.Trainings)}

// tablesPart compares suggestions on tables of real trainings, functions of BBOB and formulas, or
// on the tables that are held back.
func tablesPart(heldBack bool) part {
	var list []quality.Listed
	c := tableComparison{}
	for _, l := range quality.List() {
		if l.HeldBack == heldBack {
			list = append(list, l)
			c.problems = append(c.problems, quality.Problem{Function: quality.Function{Name: l.Name}, Suite: l.Suite})
		}
	}
	measure := func(ctx context.Context, b bench) ([]figure, error) { return b.measureTables(ctx, list) }
	return part{"tables", []group{{figures: c.specs(), measure: measure}}}
}

// searcher is an algorithm of ours, or a sampler of a peer, with its runs.
type searcher struct {
	name   string
	origin string // of the runs
	runs   []quality.Run
}

func (b bench) measureTables(ctx context.Context, list []quality.Listed) ([]figure, error) {
	peers, err := newPeers(ctx, b.python, b.log)
	if err != nil {
		return nil, err
	}
	c := tableComparison{}
	if c.problems, err = exported(ctx, peers, list, b.log); err != nil {
		return nil, err
	}
	for _, algorithm := range tableAlgorithms {
		began := time.Now()
		runs, err := b.searchProblems(ctx, peers, c.problems, algorithm)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", algorithm, err)
		}
		fmt.Fprintf(b.log, "%s: %d searches in %.0f s\n", algorithm, len(runs), time.Since(began).Seconds())
		c.searchers = append(c.searchers, searcher{algorithm, "ours", runs})
	}
	along, err := b.runAlong(ctx, peers, c.problems)
	if err != nil {
		return nil, err
	}
	recorded, err := quality.Recorded(quality.OfProblems)
	if err != nil {
		return nil, err
	}
	for _, sampler := range alongOnTables {
		c.searchers = append(c.searchers, searcher{sampler, "same run", along[sampler].Runs})
	}
	for _, sampler := range recordedOnTables {
		c.searchers = append(c.searchers, searcher{sampler, "recorded", recorded[sampler].Runs})
	}
	return c.figures(), c.table(b.log)
}

// searchProblems runs all searches by an algorithm, one a core. Each run gets the mean CPU time of
// all: a process has one clock.
func (b bench) searchProblems(ctx context.Context, peers quality.Peers, problems []quality.Problem, algorithm string) (runs []quality.Run, err error) {
	var group errgroup.Group
	group.SetLimit(runtime.NumCPU())
	var mu sync.Mutex
	seconds, err := cpuOf(func() error {
		for _, p := range problems {
			for seed := range b.times(tableSeeds) {
				group.Go(func() error {
					if ctx.Err() != nil {
						return context.Cause(ctx)
					}
					run, err := p.Search(ctx, peers, tune.Algorithm{Name: algorithm}, seed+1, tableTrials)
					mu.Lock()
					defer mu.Unlock()
					runs = append(runs, run)
					return err
				})
			}
		}
		return group.Wait()
	})
	for i := range runs {
		runs[i].CPUSeconds = seconds / float64(len(runs))
	}
	return runs, err
}

// runAlong runs the peers that are fast enough, one process a core, and returns their recordings.
func (b bench) runAlong(ctx context.Context, peers quality.Peers, problems []quality.Problem) (all map[string]quality.Recording, err error) {
	err = inTempDir(func(dir string) error {
		r := quality.Recorder{Samplers: alongOnTables, Peers: peers, Seeds: b.times(tableSeeds), Trials: tableTrials, Log: b.log}
		if err := serveProblems(&r, problems); err != nil {
			return err
		}
		shares := make([][]string, runtime.NumCPU())
		for i, p := range problems {
			shares[i%len(shares)] = append(shares[i%len(shares)], p.Name)
		}
		group, ctx := errgroup.WithContext(ctx)
		for i, share := range shares {
			own := r
			own.Out = filepath.Join(dir, strconv.Itoa(i))
			group.Go(func() error {
				if err := os.Mkdir(own.Out, 0o755); err != nil {
					return err
				}
				return own.Record(ctx, share)
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
		all, err = quality.ReadRecordings(os.DirFS(dir), "*/*.jsonl")
		return err
	})
	return all, err
}

// tableComparison is all searches: ours first, then those of peers.
type tableComparison struct {
	problems  []quality.Problem
	searchers []searcher
}

// find returns a searcher; without runs if there is none of that name.
func (c tableComparison) find(name string) searcher {
	i := slices.IndexFunc(c.searchers, func(s searcher) bool { return s.name == name })
	if i < 0 {
		return searcher{name: name}
	}
	return c.searchers[i]
}

// rival returns the peer with the best median regret among those that an algorithm is compared
// with; one without a name if none has runs enough.
func (c tableComparison) rival(algorithm string, p quality.Problem, mark int) (best searcher, regrets []float64) {
	least := math.Inf(1)
	for _, name := range tableRivals[algorithm] {
		s := c.find(name)
		theirs := p.Regrets(s.runs, mark)
		if median := quality.QuartilesOf(theirs).Median; len(theirs) >= quality.Fewest && median < least {
			best, regrets, least = s, theirs, median
		}
	}
	return best, regrets
}

// ranks returns the mean rank of each searcher over the problems of a suite, and how many searchers
// and problems there are. A searcher without runs on one of the problems has no rank, which is NaN.
func (c tableComparison) ranks(suite string, mark int) (means []float64, searchers, problems int) {
	var medians [][]float64 // by problem
	for _, p := range c.problems {
		if suite != "all" && suite != string(p.Suite) {
			continue
		}
		var of []float64
		for _, s := range c.searchers {
			of = append(of, quality.QuartilesOf(p.Regrets(s.runs, mark)).Median)
		}
		medians = append(medians, of)
	}
	means = slices.Repeat([]float64{math.NaN()}, len(c.searchers))
	var ranked []int
	for i := range c.searchers {
		if !slices.ContainsFunc(medians, func(of []float64) bool { return math.IsNaN(of[i]) }) {
			ranked = append(ranked, i)
			means[i] = 0
		}
	}
	for _, of := range medians {
		var values []float64
		for _, i := range ranked {
			values = append(values, of[i])
		}
		for at, rank := range quality.Ranks(values) {
			means[ranked[at]] += rank / float64(len(medians))
		}
	}
	return means, len(ranked), len(medians)
}

// cost returns the CPU time of a suggestion, in the mean over all runs; 0 if there are none.
func (s searcher) cost() float64 {
	var seconds, trials float64
	for _, r := range s.runs {
		seconds += r.CPUSeconds
		trials += float64(r.Trials)
	}
	return seconds / max(trials, 1)
}

func regretName(p quality.Problem, mark int, algorithm string) string {
	return fmt.Sprintf("tables-regret-%s-%d-%s", p.Name, mark, algorithm)
}

func rankName(suite string, mark int, algorithm string) string {
	return fmt.Sprintf("tables-rank-%s-%d-%s", suite, mark, algorithm)
}

func differenceName(suite string, mark int) string {
	return fmt.Sprintf("tables-critical-difference-%s-%d", suite, mark)
}

// specs returns the figures for the list.
func (c tableComparison) specs() (all []spec) {
	rivals := func(algorithm string) (peers []peer) {
		for _, name := range tableRivals[algorithm] {
			peers = append(peers, peer{name: name})
		}
		return peers
	}
	for _, algorithm := range tableAlgorithms {
		for _, mark := range tableMarks {
			for _, p := range c.problems {
				all = append(all, spec{name: regretName(p, mark, algorithm), unit: regret, peers: rivals(algorithm)})
			}
			for _, suite := range rankedSuites {
				all = append(all, spec{name: rankName(suite, mark, algorithm), unit: meanRank, peers: rivals(algorithm)})
			}
		}
		all = append(all, spec{name: "tables-cpu-" + algorithm, unit: cpuSeconds, peers: rivals(algorithm)})
	}
	for _, mark := range tableMarks {
		for _, suite := range rankedSuites {
			all = append(all, spec{name: differenceName(suite, mark), unit: meanRank})
		}
	}
	return all
}

// figures returns those of specs, in the same order.
func (c tableComparison) figures() (all []figure) {
	for _, algorithm := range tableAlgorithms {
		for _, mark := range tableMarks {
			for _, p := range c.problems {
				all = append(all, c.regretFigure(p, mark, algorithm))
			}
			for _, suite := range rankedSuites {
				all = append(all, c.rankFigure(suite, mark, algorithm))
			}
		}
		all = append(all, c.costFigure(algorithm))
	}
	for _, mark := range tableMarks {
		for _, suite := range rankedSuites {
			_, searchers, problems := c.ranks(suite, mark)
			all = append(all, figure{
				Name: differenceName(suite, mark), Unit: meanRank, PeerName: noPeer, Rounds: problems,
				Ours: rounded(quality.CriticalDifference(searchers, problems)),
			})
		}
	}
	return all
}

func (c tableComparison) regretFigure(p quality.Problem, mark int, algorithm string) figure {
	ours := p.Regrets(c.find(algorithm).runs, mark)
	rival, theirs := c.rival(algorithm, p, mark)
	compared := quality.Compare(ours, theirs, tune.Min)
	f := figure{
		Name: regretName(p, mark, algorithm), Unit: regret, Ours: rounded(compared.Ours.Median), PeerName: noPeer,
		Spread: rounded(samples(ours).spread()), Rounds: len(ours), Verdict: string(compared.Verdict),
	}
	if low, high := quality.MedianInterval(ours); !math.IsNaN(low) {
		f.Interval = []float64{rounded(low), rounded(high)}
	}
	if rival.name != "" {
		median := rounded(compared.Peer.Median)
		f.Peer, f.PeerName = &median, fmt.Sprintf("%s, %s, seeds: %d", rival.name, rival.origin, len(theirs))
	}
	return f
}

// rankFigure compares a mean rank with the best one of the peers.
func (c tableComparison) rankFigure(suite string, mark int, algorithm string) figure {
	means, _, problems := c.ranks(suite, mark)
	f := figure{Name: rankName(suite, mark, algorithm), Unit: meanRank, PeerName: noPeer, Rounds: problems}
	for i, s := range c.searchers {
		switch {
		case s.name == algorithm:
			f.Ours = rounded(means[i])
		case slices.Contains(tableRivals[algorithm], s.name) && (f.Peer == nil || means[i] < *f.Peer) && !math.IsNaN(means[i]):
			rank := rounded(means[i])
			f.Peer, f.PeerName = &rank, s.name+", "+s.origin
		}
	}
	return f
}

// costFigure compares the CPU time of a suggestion with that of the cheapest peer.
func (c tableComparison) costFigure(algorithm string) figure {
	ours := c.find(algorithm)
	f := figure{Name: "tables-cpu-" + algorithm, Unit: cpuSeconds, Ours: rounded(ours.cost()), PeerName: noPeer, Rounds: len(ours.runs)}
	for _, name := range tableRivals[algorithm] {
		s := c.find(name)
		if cost := rounded(s.cost()); len(s.runs) > 0 && (f.Peer == nil || cost < *f.Peer) {
			f.Peer, f.PeerName = &cost, s.name+", "+s.origin
		}
	}
	return f
}

// table shows the regret of each searcher on each problem, and their ranks.
func (c tableComparison) table(w io.Writer) error {
	fmt.Fprintf(w, "normalized regret: median [%.0f %% interval, percentile bootstrap of %d resamples] of seeds; "+
		"0: the best of the table, 1: its median\n", 100*quality.Level, quality.Resamples)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, p := range c.problems {
		fmt.Fprint(t, p.Name, "\t", p.Suite)
		for _, mark := range tableMarks {
			fmt.Fprintf(t, "\tafter %d", mark)
		}
		fmt.Fprintln(t)
		for _, s := range c.searchers {
			fmt.Fprint(t, "\t", s.name)
			for _, mark := range tableMarks {
				fmt.Fprint(t, "\t", regretText(p.Regrets(s.runs, mark)))
			}
			fmt.Fprintln(t)
		}
	}
	for _, suite := range rankedSuites {
		c.rankTable(t, suite)
	}
	fmt.Fprintln(t, "a suggestion\t\tCPU-s\tsearches\truns")
	for _, s := range c.searchers {
		fmt.Fprintf(t, "\t%s\t%s\t%d\t%s\n", s.name, number(s.cost()), len(s.runs), s.origin)
	}
	return t.Flush()
}

func (c tableComparison) rankTable(t io.Writer, suite string) {
	lines := make([]string, len(c.searchers)+2)
	for _, mark := range tableMarks {
		means, searchers, problems := c.ranks(suite, mark)
		lines[0] += fmt.Sprintf("\tafter %d", mark)
		for i, mean := range means {
			lines[i+1] += "\t" + rankText(mean)
		}
		lines[len(lines)-1] += fmt.Sprintf("\t%.2f: %d on %d problems", quality.CriticalDifference(searchers, problems), searchers, problems)
	}
	fmt.Fprintf(t, "mean rank\t%s%s\n", suite, lines[0])
	for i, s := range c.searchers {
		fmt.Fprintf(t, "\t%s%s\n", s.name, lines[i+1])
	}
	fmt.Fprintf(t, "\tcritical difference%s\n", lines[len(lines)-1])
}

func regretText(regrets []float64) string {
	if len(regrets) == 0 {
		return "no runs"
	}
	text := fmt.Sprintf("%.3f", quality.QuartilesOf(regrets).Median)
	if low, high := quality.MedianInterval(regrets); !math.IsNaN(low) {
		text += fmt.Sprintf(" [%.3f, %.3f]", low, high)
	}
	return text + fmt.Sprintf(" of %d", len(regrets))
}

func rankText(mean float64) string {
	if math.IsNaN(mean) {
		return "not on all"
	}
	return fmt.Sprintf("%.2f", mean)
}
