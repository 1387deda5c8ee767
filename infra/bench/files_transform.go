package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/data/tfrecord"
	"github.com/stoker-ml/stoker/compute/tf/transform"
)

//go:embed files_transform.py
var transformScript string

const (
	transformedRows = 1000 // of one pass
	transformPasses = 200  // of one round: some tenths of a CPU-second
)

// transform measures a transform graph by itself: rows that are parsed already become transformed
// ones, in batches, on one core.
func (b bench) transform(ctx context.Context, peer *tensorflow, _ string) (all []figure, err error) {
	for _, name := range []string{"penguin", "taxi"} {
		t, err := newTransforming(name)
		if err != nil {
			return nil, err
		}
		took, err := t.rounds(ctx, peer, b.times(9))
		if err != nil {
			return nil, fmt.Errorf("transform %s: %w", name, err)
		}
		all = append(all, took.costs("transform-"+name, cpuSecondsPerMillion, "> 3", tensorflowName)...)
	}
	return all, nil
}

// transforming is a graph and rows for it, as the script gets them.
type transforming struct {
	Graph    string   `json:"graph"`
	Examples [][]byte `json:"examples"`
	Passes   int      `json:"passes"`

	graph *transform.Graph
	raw   *example.Batch
}

func newTransforming(name string) (t transforming, err error) {
	t.Passes = transformPasses
	if t.Graph, err = fromRoot("compute", "tf", "savedmodel", "testdata", name, "transform_graph"); err != nil {
		return t, err
	}
	examples, err := fromRoot("compute", "data", "example", "testdata", name, "examples", "Split-eval", "*")
	if err != nil {
		return t, err
	}
	if t.Examples, err = recordsOf(examples, transformedRows); err != nil {
		return t, err
	}
	if t.graph, err = transform.Open(t.Graph); err != nil {
		return t, err
	}
	t.raw, err = example.Parse(t.graph.Raw(), t.Examples...)
	return t, err
}

// recordsOf are so many records of the files that a pattern matches, repeated if there are fewer.
func recordsOf(pattern string, rows int) (records [][]byte, err error) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no file matches %s: %w", pattern, err)
	}
	r, err := tfrecord.Open(files[0])
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for {
		data, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		records = append(records, slices.Clone(data))
	}
	for len(records) > 0 && len(records) < rows {
		records = append(records, records...)
	}
	return records[:rows], nil
}

// rounds transforms the rows by us and by the peer in turn, after a check that both make the same.
func (t transforming) rounds(ctx context.Context, peer *tensorflow, rounds int) (measured, error) {
	if err := t.agree(peer); err != nil {
		return nil, err
	}
	rows := t.Passes * t.raw.Rows
	ours := contender{oursName, func(int) (float64, error) {
		seconds, err := cpuOf(t.transform)
		return seconds / float64(rows) * 1e6, err
	}}
	theirs := contender{peerName, func(int) (float64, error) {
		var theirRows int
		seconds, err := peer.call(transformScript, "transform", t, &theirRows)
		if err == nil && theirRows != rows {
			err = fmt.Errorf("TensorFlow transformed %d rows of %d", theirRows, rows)
		}
		return seconds / float64(rows) * 1e6, err
	}}
	return compare(ctx, rounds, true, ours, theirs)
}

// transform makes all passes.
func (t transforming) transform() (err error) {
	var into *example.Batch
	for range t.Passes {
		if into, err = t.graph.Run(t.raw, into); err != nil {
			return err
		}
	}
	return nil
}

// agree has the peer load the graph, and compares what both make of the rows.
func (t transforming) agree(peer *tensorflow) error {
	var want map[string]int64
	if _, err := peer.call(transformScript, "load", t, &want); err != nil {
		return err
	}
	made, err := t.graph.Run(t.raw, nil)
	if err != nil {
		return err
	}
	for name, sum := range want {
		have := int64(0)
		for _, v := range made.Column(name).Ints {
			have += v
		}
		if have != sum {
			return fmt.Errorf("feature %s adds up to %d, in TensorFlow to %d", name, have, sum)
		}
	}
	return nil
}
