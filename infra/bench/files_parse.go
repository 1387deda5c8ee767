package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"math"
	"path/filepath"

	"github.com/stoker-ml/stoker/compute/data/example"
)

//go:embed files_parse.py
var parseScript string

// parsedRows is how many rows each file has: enough for a pass to take some tenths of a CPU-second.
const parsedRows = 100_000

// parseBatch is how many rows are parsed at once.
const parseBatch = 256

// parse measures records -> columns, checksums and all, of tf.Examples and tf.SequenceExamples in
// plain and gzip files.
func (b bench) parse(ctx context.Context, peer *tensorflow, dir string) (all []figure, err error) {
	for _, data := range parsedData() {
		for _, file := range []struct {
			name, suffix, goal string
			gzip               bool
		}{{"plain", "", "> 3", false}, {"gzip", ".gz", "> 2", true}} {
			in := parsing{File: filepath.Join(dir, data.name+file.suffix), Gzip: file.gzip, Batch: parseBatch, Spec: parsedSpec(data.spec), spec: data.spec}
			if err := data.write(in.File, parsedRows); err != nil {
				return nil, err
			}
			took, err := in.rounds(ctx, peer, b.times(9))
			if err != nil {
				return nil, err
			}
			all = append(all, took.costs("parse-"+data.name+"-"+file.name, cpuSecondsPerMillion, file.goal, tensorflowName)...)
		}
	}
	return all, nil
}

// parsing is one file to parse, as the script gets it.
type parsing struct {
	File  string          `json:"file"`
	Gzip  bool            `json:"gzip"`
	Batch int             `json:"batch"`
	Spec  []parsedFeature `json:"spec"`

	spec example.Spec
}

type parsedFeature struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Shape    []int  `json:"shape"`
	Sequence bool   `json:"sequence"`
}

func parsedSpec(spec example.Spec) (all []parsedFeature) {
	for _, f := range spec {
		all = append(all, parsedFeature{f.Name, f.Kind.String(), f.Shape, f.Sequence})
	}
	return all
}

// rounds parses the file by us and by the peer in turn, after a check that both read the same.
func (p parsing) rounds(ctx context.Context, peer *tensorflow, rounds int) (measured, error) {
	if err := p.agree(ctx, peer); err != nil {
		return nil, err
	}
	ours, rows := contender{name: oursName}, 0
	ours.run = func(int) (cpu float64, err error) {
		cpu, rows, err = p.ours(ctx)
		return cpu / float64(rows) * 1e6, err
	}
	theirs := contender{peerName, func(int) (float64, error) {
		var theirRows int
		cpu, err := peer.call(parseScript, "parse", p, &theirRows)
		if err == nil && rows != theirRows {
			err = fmt.Errorf("parsed %d rows of %s, TensorFlow %d", rows, p.File, theirRows)
		}
		return cpu / float64(rows) * 1e6, err
	}}
	return compare(ctx, rounds, true, ours, theirs)
}

// ours is the CPU time that we take for all of the file.
func (p parsing) ours(ctx context.Context) (cpu float64, rows int, err error) {
	cpu, err = cpuOf(func() error {
		return p.batches(ctx, func(b *example.Batch) { rows += b.Rows })
	})
	return cpu, rows, err
}

func (p parsing) batches(ctx context.Context, use func(*example.Batch)) error {
	r, err := example.Open(example.Options{Patterns: []string{p.File}, Spec: p.spec, BatchSize: p.Batch, Epochs: 1})
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		b, err := r.Next(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		use(b)
	}
}

// agree compares the sums of all columns. Sums of floats may differ in the order of adding: by 1e-9
// of what is added at most.
func (p parsing) agree(ctx context.Context, peer *tensorflow) error {
	sums, sizes := map[string]float64{}, map[string]float64{}
	err := p.batches(ctx, func(b *example.Batch) {
		for i := range b.Columns {
			sum, size := total(&b.Columns[i])
			sums[b.Columns[i].Feature.Name] += sum
			sizes[b.Columns[i].Feature.Name] += size
		}
	})
	if err != nil {
		return err
	}
	var theirs map[string]float64
	if _, err := peer.call(parseScript, "sums", p, &theirs); err != nil {
		return err
	}
	for name, want := range theirs {
		if math.Abs(sums[name]-want) > 1e-9*sizes[name] {
			return fmt.Errorf("column %s of %s adds up to %v, in TensorFlow to %v", name, p.File, sums[name], want)
		}
	}
	return nil
}

// total is the sum of a column's values, of strings that of their lengths, and the sum of their
// sizes.
func total(c *example.Column) (sum, size float64) {
	for _, v := range c.Floats {
		sum, size = sum+float64(v), size+math.Abs(float64(v))
	}
	for _, v := range c.Ints {
		sum, size = sum+float64(v), size+math.Abs(float64(v))
	}
	return sum + float64(len(c.Data)), size + float64(len(c.Data))
}
