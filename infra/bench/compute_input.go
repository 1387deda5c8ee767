package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/stoker-ml/stoker/compute/data/example"
)

//go:embed compute_input.py
var inputScript string

// mixed are 20 features as they come before tf.Transform: numbers, ids, words and a vector of which
// each row has one, and two lists.
func mixed() parsedSet {
	var spec example.Spec
	for _, f := range []struct {
		name  string
		kind  example.Kind
		n     int
		shape []int
	}{
		{"category_id", example.Int64, 5, []int{1}}, {"label", example.Int64, 1, []int{1}}, {"measurement", example.Float, 7, []int{1}},
		{"tags", example.Bytes, 1, nil}, {"text_token", example.Bytes, 4, []int{1}}, {"vector", example.Float, 1, []int{4}},
		{"visited", example.Int64, 1, nil},
	} {
		for i := range f.n {
			spec = append(spec, example.Feature{Name: fmt.Sprintf("%s_%d", f.name, i), Kind: f.kind, Shape: f.shape})
		}
	}
	return parsedSet{"mixed", spec}
}

// inputModes are how tf.data is set: as its guide recommends, and with one thread, which takes the
// least CPU time.
var inputModes = []string{"autotune", "one thread"}

// inputRequest is a file to parse, as the script gets it.
type inputRequest struct {
	parsing
	Mode string `json:"mode"`
}

// input measures records -> batches of parsed columns, plain and gzip.
func (b bench) input(ctx context.Context) (all []figure, err error) {
	dir, err := os.MkdirTemp("", "stoker-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	err = withTensorFlow(ctx, 2, b.log, func(peer *tensorflow) error {
		for _, file := range []struct {
			name, suffix, goal string
			gzip               bool
		}{{"plain", "", "> 3", false}, {"gzip", ".gz", "> 2", true}} {
			data := mixed()
			p := parsing{File: filepath.Join(dir, data.name+file.suffix), Gzip: file.gzip, Batch: parseBatch, Spec: parsedSpec(data.spec), spec: data.spec}
			if err := data.write(p.File, parsedRows); err != nil {
				return err
			}
			in := inputs{parsing: p, theirs: map[string][]cost{}}
			if err := in.rounds(ctx, peer, b.times(9)); err != nil {
				return err
			}
			all = append(all, in.figures("input-"+file.name, file.goal)...)
		}
		return nil
	})
	return all, err
}

// inputs is a file, and what engines took for it, a cost a round.
type inputs struct {
	parsing
	ours   []cost
	theirs map[string][]cost // by mode
}

// rounds parses the file by us and by each mode of the peer in turn, once both have been seen to
// read the same.
func (in *inputs) rounds(ctx context.Context, peer *tensorflow, rounds int) error {
	if err := in.agree(ctx, peer); err != nil {
		return err
	}
	for round := range rounds + 1 {
		began := time.Now()
		cpu, rows, err := in.parsing.ours(ctx)
		if err != nil {
			return err
		}
		wall := time.Since(began).Seconds()
		if round > 0 { // the first warms up both
			in.ours = append(in.ours, cost{Examples: rows, CPU: cpu, Wall: wall})
		}
		for _, mode := range inputModes {
			var c cost
			if _, err := peer.call(inputScript, "parse", inputRequest{in.parsing, mode}, &c); err != nil {
				return err
			}
			if c.Examples != rows {
				return fmt.Errorf("parsed %d rows of %s, TensorFlow %d", rows, in.File, c.Examples)
			}
			if round > 0 {
				in.theirs[mode] = append(in.theirs[mode], c)
			}
		}
	}
	return nil
}

// figures compare our rates with each mode's, and the median of the rounds' own ratios to the mode
// that takes the least CPU time.
func (in *inputs) figures(name, goal string) (all []figure) {
	best := ""
	for _, mode := range inputModes {
		if best == "" || each(in.theirs[mode], cost.perCPU).quantile(0.5) > each(in.theirs[best], cost.perCPU).quantile(0.5) {
			best = mode
		}
	}
	figureOf := func(name, mode, unit string, rate func(cost) float64) figure {
		ours := each(in.ours, rate)
		return alone(name, unit, ours.quantile(0.5), ours, "").faster(tensorflowName+", "+mode, rounded(each(in.theirs[mode], rate).quantile(0.5)))
	}
	var ratios samples
	for i, c := range in.ours {
		ratios = append(ratios, c.perCPU()/in.theirs[best][i].perCPU())
	}
	return []figure{
		figureOf(name, best, perCPUSecond, cost.perCPU),
		alone(name+"-ratio", times, ratios.quantile(0.5), ratios, goal),
		figureOf(name+"-autotune", "autotune", perCPUSecond, cost.perCPU),
		figureOf(name+"-wall", "autotune", perSecond, cost.perSecond),
	}
}
