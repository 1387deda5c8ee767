package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/infra/bench/quality"
)

// result is all searches: ours by algorithm, the peers' by sampler.
type result struct {
	functions []quality.Function
	ours      map[string][]quality.Run
	recorded  map[string]quality.Recording
}

// rival is a peer that an algorithm is compared with, by one or more of its samplers: the better
// one of each cell counts.
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

// cell is one place of the table: how good the best of a function is after so many trials.
type cell struct {
	function quality.Function
	trials   int
}

func (r result) cells() (all []cell) {
	for _, f := range r.functions {
		for _, trials := range tuneMarks {
			all = append(all, cell{f, trials})
		}
	}
	return all
}

func (r result) of(c cell, algorithm string) []float64 {
	return quality.After(r.ours[algorithm], c.function.Name, c.trials)
}

func (r result) recordedOf(c cell, sampler string) []float64 {
	return quality.After(r.recorded[sampler].Runs, c.function.Name, c.trials)
}

// best is the sampler of a rival whose median is best in a cell, with its values.
func (r result) best(c cell, of rival) (sampler string, values []float64) {
	for _, candidate := range of.samplers {
		theirs := r.recordedOf(c, candidate)
		if len(values) == 0 || len(theirs) > 0 &&
			c.function.Direction.Better(quality.QuartilesOf(theirs).Median, quality.QuartilesOf(values).Median) {
			sampler, values = candidate, theirs
		}
	}
	return sampler, values
}

// figures compare the medians with each rival's.
func (r result) figures() (all []figure) {
	for _, c := range r.cells() {
		for _, algorithm := range tuneAlgorithms() {
			for _, peer := range rivals(algorithm) {
				all = append(all, r.figure(c, algorithm, peer))
			}
		}
	}
	return all
}

func (r result) figure(c cell, algorithm string, peer rival) figure {
	values := r.of(c, algorithm)
	sampler, theirs := r.best(c, peer)
	compared := quality.Compare(values, theirs, c.function.Direction)
	f := figure{
		Name: fmt.Sprintf("tune-%s-%d-%s-%s", c.function.Name, c.trials, algorithm, strings.ToLower(peer.name)), Unit: bestValue,
		Ours:     compared.Ours.Median,
		PeerName: noPeer, Spread: samples(values).spread(), Rounds: len(values), Verdict: string(compared.Verdict),
	}
	if compared.Verdict != quality.Unknown {
		f.Peer, f.PeerName = &compared.Peer.Median, fmt.Sprintf("%s, seeds: %d", sampler, compared.Peer.N)
	}
	return f
}

// table shows every sampler's quartiles in every cell, and for ours the interval of the difference
// to each rival.
func (r result) table(w io.Writer) error {
	fmt.Fprintf(w, "best value: median [lower quartile, upper quartile]; of ours the %.0f %% interval of the difference of medians "+
		"(percentile bootstrap, %d resamples)\n", 100*quality.Level, quality.Resamples)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, c := range r.cells() {
		fmt.Fprintf(t, "%s after %d\tbest there is\t%s\n", c.function.Name, c.trials, precise(c.function.Best))
		for _, algorithm := range tuneAlgorithms() {
			fmt.Fprintf(t, "\t%s\t%s\t%s\n", algorithm, quartiles(r.of(c, algorithm)), r.comparison(c, algorithm))
		}
		for _, sampler := range slices.Sorted(maps.Keys(r.recorded)) {
			if theirs := r.recordedOf(c, sampler); len(theirs) > 0 {
				fmt.Fprintf(t, "\t%s\t%s\trecorded\n", sampler, quartiles(theirs))
			}
		}
	}
	return t.Flush()
}

// comparison says how an algorithm compares in a cell.
func (r result) comparison(c cell, algorithm string) (text string) {
	for _, peer := range rivals(algorithm) {
		sampler, theirs := r.best(c, peer)
		compared := quality.Compare(r.of(c, algorithm), theirs, c.function.Direction)
		if compared.Verdict != quality.Unknown {
			text += fmt.Sprintf("%s %s [%s, %s]  ", sampler, compared.Verdict, precise(compared.Low), precise(compared.High))
		}
	}
	return text
}

func quartiles(values []float64) string {
	q := quality.QuartilesOf(values)
	return fmt.Sprintf("%s [%s, %s] of %d", precise(q.Median), precise(q.Low), precise(q.High), q.N)
}

// precise has the digits by which good searches differ.
func precise(x float64) string {
	if math.IsNaN(x) {
		return "unknown"
	}
	return fmt.Sprintf("%.5g", x)
}
