package main

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/infra/bench/quality"
)

// server returns this binary, serving a function.
func server(t *testing.T, name string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exec.CommandContext(t.Context(), self, serveObjective, name)
}

// A function that another process computes has the same values, to the bit, as here.
func TestASearchAsksAnotherProcess(t *testing.T) {
	t.Parallel()
	f, err := quality.Find(quality.Known(), "layers")
	if err != nil {
		t.Fatal(err)
	}
	here, err := quality.Search(f, tune.Algorithm{Name: tune.Random}, 1, 20)
	if err != nil {
		t.Fatal(err)
	}
	err = quality.WithServed(f, server(t, f.Name), func(served quality.Function) error {
		there, err := quality.Search(served, tune.Algorithm{Name: tune.Random}, 1, 20)
		if err == nil && there.After(20) != here.After(20) {
			t.Errorf("best is %v there, and %v here", there.After(20), here.After(20))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAServerThatEndsIsNamed(t *testing.T) {
	t.Parallel()
	f := quality.Known()[0]
	err := quality.WithServed(f, server(t, "nothing"), func(served quality.Function) error {
		_, err := quality.Search(served, tune.Algorithm{Name: tune.Random}, 1, 1)
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "function nothing: expected one of branin") {
		t.Errorf("error is %v", err)
	}
}

// Same values, same bits; and the default rates of the optimizers are not all alike.
func TestTheTaxiModelIsAFunction(t *testing.T) {
	if testing.Short() {
		t.Skip("trains on thousands of trips")
	}
	t.Chdir("../..")
	f := taxiFunction(t.Context())
	values := f.Space.Defaults().With("learning_rate", 0.03).With("batch_size", int64(64)).
		With("num_layers", int64(2)).With("units", int64(16))
	good, err := f.At(values)
	if err != nil {
		t.Fatal(err)
	}
	again, err := f.At(values)
	if err != nil {
		t.Fatal(err)
	}
	bad, err := f.At(values.With("learning_rate", 0.0001).With("optimizer", "sgd"))
	if err != nil {
		t.Fatal(err)
	}
	if good != again || good < 0.9 || bad > 0.8 {
		t.Errorf("AUC is %v, again %v, and %v where little is learnt", good, again, bad)
	}
}

func TestAVerdictIsInFiguresAndTable(t *testing.T) {
	t.Parallel()
	run := func(value float64) quality.Run {
		return quality.Run{Function: "branin", Trials: 100, Better: []quality.Better{{Trial: 1, Value: value}}}
	}
	r := result{
		functions: quality.Known()[:1],
		ours:      map[string][]quality.Run{tune.Bayesian: {run(0.4), run(0.4), run(0.4), run(0.41), run(0.41), run(0.41)}},
		recorded: map[string]quality.Recording{
			quality.OptunaTPE: {Runs: slices.Repeat([]quality.Run{run(0.7)}, 5)},
			quality.OptunaGP:  {Runs: slices.Repeat([]quality.Run{run(0.6)}, 5)},
		},
	}
	f := r.figures()[0]
	if f.Name != "tune-branin-50-bayesian-optuna" || f.Ours != 0.405 || *f.Peer != 0.6 || f.PeerName != "optuna-gp, seeds: 5" ||
		f.Verdict != "better" {
		t.Errorf("figure is %+v: expected the better one of the peer's samplers as peer", f)
	}
	for i, s := range r.specs() {
		if measured := r.figures()[i].Name; measured != s.name {
			t.Errorf("figure %s is listed as %s", measured, s.name)
		}
	}
	var table bytes.Buffer
	if err := r.table(&table); err != nil {
		t.Fatal(err)
	}
	for _, expected := range []string{"0.405 [0.4, 0.41] of 6", "optuna-gp better [-0.2, -0.19]"} {
		if !strings.Contains(table.String(), expected) {
			t.Errorf("table has no %q:\n%s", expected, table.String())
		}
	}
}
