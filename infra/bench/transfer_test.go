package main

import (
	"math"
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/infra/bench/quality"
)

// On table a older studies help in each of 5 runs, on table b they do harm in each.
func TestTransferIsComparedRunByRun(t *testing.T) {
	t.Parallel()
	c := transferComparison{runs: map[string][]quality.LeftOut{}}
	for _, name := range []string{"a", "b", "of no other's space"} {
		c.tables = append(c.tables, quality.Problem{Function: quality.Function{Name: name, Direction: tune.Min}, Median: 1})
	}
	run := func(table string, value float64) quality.Run {
		return quality.Run{Function: table, Trials: 50, Better: []quality.Better{{Trial: 1, Value: value}}}
	}
	for range 5 {
		c.runs[tune.TPE] = append(c.runs[tune.TPE],
			quality.LeftOut{Cold: run("a", 0.5), Warm: run("a", 0.2)}, quality.LeftOut{Cold: run("b", 0.1), Warm: run("b", 0.4)})
	}
	figures := map[string]figure{}
	for i, f := range c.figures() {
		figures[f.Name] = f
		if listed := transferPart().groups[0].figures[i].name; listed != f.Name {
			t.Errorf("figure %s is listed as %s", f.Name, listed)
		}
	}
	if f := figures["transfer-regret-20-tpe"]; math.Abs(f.Ours-0.3) > 1e-9 || math.Abs(*f.Peer-0.3) > 1e-9 || f.Rounds != 10 {
		t.Errorf("%+v", f)
	}
	if f := figures["transfer-worse-runs-20-tpe"]; f.Ours != 0.5 || f.Rounds != 10 {
		t.Errorf("%+v", f)
	}
	if f := figures["transfer-worse-tables-20-tpe"]; f.Ours != 0.5 || f.Rounds != 2 {
		t.Errorf("%+v", f)
	}
	if f := figures["transfer-worse-runs-20-bayesian"]; f.Ours != 0 || f.Rounds != 0 {
		t.Errorf("%+v", f)
	}
	if names := partNames(); !slices.Contains(names, "transfer") {
		t.Errorf("parts are %v", names)
	}
}
