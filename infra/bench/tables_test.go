package main

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/infra/bench/quality"
)

// twoProblems has runs of ours and of a peer on two problems; another peer was run on one alone.
func twoProblems() tableComparison {
	problem := func(name string, suite quality.Suite) quality.Problem {
		return quality.Problem{Function: quality.Function{Name: name, Direction: tune.Min}, Suite: suite, Median: 1}
	}
	runs := func(values map[string]float64) (all []quality.Run) {
		for function, value := range values {
			run := quality.Run{Function: function, Trials: 200, CPUSeconds: 2, Better: []quality.Better{{Trial: 1, Value: value}}}
			all = append(all, slices.Repeat([]quality.Run{run}, 5)...)
		}
		return all
	}
	return tableComparison{
		problems: []quality.Problem{problem("a", quality.Trainings), problem("b", quality.BBOB)},
		searchers: []searcher{
			{tune.Bayesian, "ours", runs(map[string]float64{"a": 0.2, "b": 0.5})},
			{tune.TPE, "ours", runs(map[string]float64{"a": 0.1, "b": 0.5})},
			{tune.Random, "ours", runs(map[string]float64{"a": 0.4, "b": 0.9})},
			{quality.OptunaTPE, "same run", runs(map[string]float64{"a": 0.3, "b": 0.1})},
			{quality.HEBO, "recorded", runs(map[string]float64{"a": 0.05})},
		},
	}
}

// b: ours share ranks 2 and 3. HEBO has no runs of b, and no rank over both.
func TestSearchersAreRankedOnAllProblems(t *testing.T) {
	t.Parallel()
	means, searchers, problems := twoProblems().ranks("all", 50)
	if want := []float64{2.25, 1.75, 4, 2}; !slices.Equal(means[:4], want) || !math.IsNaN(means[4]) || searchers != 4 || problems != 2 {
		t.Errorf("ranks are %v of %d searchers on %d problems, expected %v and none", means, searchers, problems, want)
	}
	if means, searchers, _ := twoProblems().ranks("trainings", 50); means[4] != 1 || searchers != 5 {
		t.Errorf("ranks on tables are %v", means)
	}
}

func TestRegretRanksAndCostAreFigures(t *testing.T) {
	t.Parallel()
	c := twoProblems()
	figures := map[string]figure{}
	for i, f := range c.figures() {
		figures[f.Name] = f
		if listed := c.specs()[i].name; listed != f.Name {
			t.Errorf("figure %s is listed as %s", f.Name, listed)
		}
	}
	if f := figures["tables-regret-a-50-tpe"]; f.Ours != 0.1 || *f.Peer != 0.3 || f.PeerName != "optuna-tpe, same run, seeds: 5" ||
		f.Verdict != "better" || !slices.Equal(f.Interval, []float64{0.1, 0.1}) {
		t.Errorf("%+v", f)
	}
	if f := figures["tables-regret-a-50-bayesian"]; *f.Peer != 0.05 || f.Verdict != "worse" {
		t.Errorf("%+v: expected the best peer", f)
	}
	if f := figures["tables-rank-all-50-tpe"]; f.Ours != 1.75 || *f.Peer != 2 {
		t.Errorf("%+v", f)
	}
	if f := figures["tables-cpu-random"]; f.Ours != 0.01 || f.Peer != nil {
		t.Errorf("%+v", f)
	}
	var table, lines bytes.Buffer
	if err := c.table(&table); err != nil {
		t.Fatal(err)
	}
	for _, expected := range []string{"0.100 [0.100, 0.100] of 5", "no runs", "not on all", "4 on 2 problems"} {
		if !strings.Contains(table.String(), expected) {
			t.Errorf("table has no %q:\n%s", expected, table.String())
		}
	}
	if err := writeLines(&lines, c.figures()); err != nil || !strings.Contains(lines.String(), `"interval":[0.1,0.1]`) {
		t.Errorf("%v: %s", err, lines.String())
	}
}
