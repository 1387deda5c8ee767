package example_test

import (
	"hash/fnv"
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/compute/data/example"
)

// A training that resumes from a checkpoint skips batches: if the order differed from that of the
// version which wrote the checkpoint, it would repeat some rows and leave out others. So the order
// of a seed never changes.
func TestTheOrderOfASeedIsThatOfAllVersions(t *testing.T) {
	t.Parallel()
	pattern := writeNumbers(t, map[string]int{"a.gz": 700, "b": 300})
	r := open(t, example.Options{Patterns: []string{pattern}, BatchSize: 7, ShuffleBuffer: 100, Seed: 3, Epochs: 3})
	all := slices.Concat(next(t, r, 1000)...)
	equal(t, "first", all[:10], []int64{28, 90, 13, 70, 59, 78, 87, 66, 95, 81})
	hash := fnv.New64a()
	for _, n := range all {
		hash.Write([]byte{byte(n), byte(n >> 8)})
	}
	equal(t, "records", len(all), 3000)
	equal(t, "order", hash.Sum64(), 8022821672007230957)
}

func TestRowsSayWhereTheyComeFrom(t *testing.T) {
	t.Parallel()
	pattern := writeNumbers(t, map[string]int{"a.gz": 300, "b": 0, "c": 300})
	for _, shuffle := range []int{0, 50} {
		r := open(t, example.Options{Patterns: []string{pattern}, BatchSize: 90, ShuffleBuffer: shuffle, Epochs: 2})
		rows := 0
		for b, err := r.Next(t.Context()); err == nil; b, err = r.Next(t.Context()) {
			equal(t, "origins", len(b.Origins), b.Rows)
			for row, n := range b.Column("n").Ints {
				want := example.Origin{File: "Split-train/a.gz", Record: n}
				if n >= 300 {
					want = example.Origin{File: "Split-train/c", Record: n - 300}
				}
				equal(t, "origin", b.Origins[row], want)
			}
			rows += b.Rows
		}
		equal(t, "rows", rows, 1200)
	}
}
