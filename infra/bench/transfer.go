package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/infra/bench/quality"
)

// transferMarks are the numbers of trials after which searches with older studies are compared with
// searches without; the last one is the length of a search.
var transferMarks = []int{10, 20, 50}

// transferAlgorithms are those that learn from older studies.
var transferAlgorithms = []string{tune.Bayesian, tune.TPE}

const withoutOlder = "without older studies, same run"

// transferPart compares searches of tables that know older studies, of other tables, with searches
// that know nothing: `from: all` of a pipeline.
func transferPart() part {
	c := transferComparison{runs: map[string][]quality.LeftOut{}}
	return part{"transfer", []group{{figures: specsOf(c.figures()), measure: func(ctx context.Context, b bench) ([]figure, error) { return b.measureTransfer(ctx) }}}}
}

func specsOf(figures []figure) (all []spec) {
	for _, f := range figures {
		s := spec{name: f.Name, unit: f.Unit}
		if f.PeerName != noPeer {
			s.peers = []peer{{name: f.PeerName}}
		}
		all = append(all, s)
	}
	return all
}

func (b bench) measureTransfer(ctx context.Context) ([]figure, error) {
	peers, err := newPeers(ctx, b.python, b.log)
	if err != nil {
		return nil, err
	}
	var list []quality.Listed
	for _, l := range quality.List() {
		if l.Suite == quality.Trainings && !l.HeldBack {
			list = append(list, l)
		}
	}
	c := transferComparison{runs: map[string][]quality.LeftOut{}}
	if c.tables, err = exported(ctx, peers, list, b.log); err != nil {
		return nil, err
	}
	for _, algorithm := range transferAlgorithms {
		last := transferMarks[len(transferMarks)-1]
		c.runs[algorithm], err = quality.LeaveOneOut(ctx, c.tables, tune.Algorithm{Name: algorithm}, b.times(tableSeeds), last)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", algorithm, err)
		}
	}
	return c.figures(), c.table(b.log)
}

// transferComparison is all searches, by algorithm.
type transferComparison struct {
	tables []quality.Problem
	runs   map[string][]quality.LeftOut
}

// regrets returns those of one table, in the order of seeds.
func (c transferComparison) regrets(algorithm string, p quality.Problem, mark int) (cold, warm []float64) {
	var without, with []quality.Run
	for _, r := range c.runs[algorithm] {
		without, with = append(without, r.Cold), append(with, r.Warm)
	}
	return p.Regrets(without, mark), p.Regrets(with, mark)
}

// figures returns, for each algorithm and mark, the mean over tables of the median regret, how many
// of all searches are worse with older studies than without, and on how many tables the median is.
func (c transferComparison) figures() (all []figure) {
	for _, algorithm := range transferAlgorithms {
		for _, mark := range transferMarks {
			var coldSum, warmSum float64
			runs, worse, tables, worseTables := 0, 0, 0, 0
			for _, p := range c.tables {
				cold, warm := c.regrets(algorithm, p, mark)
				if len(cold) == 0 {
					continue
				}
				compared := quality.Compare(warm, cold, tune.Min)
				coldSum, warmSum = coldSum+compared.Peer.Median, warmSum+compared.Ours.Median
				tables++
				if compared.Verdict == quality.IsWorse {
					worseTables++
				}
				for i := range warm {
					runs++
					if warm[i] > cold[i] {
						worse++
					}
				}
			}
			of := func(n, all int) float64 { return rounded(float64(n) / float64(max(all, 1))) }
			cold := rounded(coldSum / float64(max(tables, 1)))
			name := func(figure string) string { return fmt.Sprintf("transfer-%s-%d-%s", figure, mark, algorithm) }
			all = append(all,
				figure{Name: name("regret"), Unit: regret, Ours: rounded(warmSum / float64(max(tables, 1))), Peer: &cold, PeerName: withoutOlder, Rounds: runs},
				figure{Name: name("worse-runs"), Unit: fraction, Ours: of(worse, runs), PeerName: noPeer, Rounds: runs},
				figure{Name: name("worse-tables"), Unit: fraction, Ours: of(worseTables, tables), PeerName: noPeer, Rounds: tables})
		}
	}
	return all
}

// table shows the median regret of each table without and with older studies.
func (c transferComparison) table(w io.Writer) error {
	fmt.Fprintln(w, "normalized regret, median of seeds, without and with a study of each other table of the same space")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, algorithm := range transferAlgorithms {
		fmt.Fprint(t, algorithm)
		for _, mark := range transferMarks {
			fmt.Fprintf(t, "\tafter %d", mark)
		}
		fmt.Fprintln(t)
		for _, p := range c.tables {
			fmt.Fprint(t, p.Name)
			for _, mark := range transferMarks {
				cold, warm := c.regrets(algorithm, p, mark)
				compared := quality.Compare(warm, cold, tune.Min)
				fmt.Fprintf(t, "\t%.4f, %.4f, %s", compared.Peer.Median, compared.Ours.Median, compared.Verdict)
			}
			fmt.Fprintln(t)
		}
	}
	return t.Flush()
}
