package example_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/data/example"
)

// everyThird chooses the records 2, 5, 8 and so on.
func everyThird(record int64) bool { return record%3 == 2 }

func TestOnlyChosenRecordsAreReadInEachEpoch(t *testing.T) {
	t.Parallel()
	// The same records in one file, in three, and in many.
	for _, counts := range []map[string]int{{"a": 20}, {"a": 7, "b": 1, "c": 12}, {"a": 1, "b": 1, "c": 0, "d": 18}} {
		r := open(t, example.Options{Patterns: []string{writeNumbers(t, counts)}, BatchSize: 4, Epochs: 2, Only: everyThird})
		want := [][]int64{{2, 5, 8, 11}, {14, 17, 2, 5}, {8, 11, 14, 17}}
		if diff := cmp.Diff(want, next(t, r, 9)); diff != "" {
			t.Errorf("%v: want - got +\n%s", counts, diff)
		}
	}
}

// Chosen records are read as those of a file that has no others, in the same shuffled order.
func TestChosenRecordsAreShuffledAndSkippedAsIfThereWereNoOthers(t *testing.T) {
	t.Parallel()
	whole, part := writeNumbers(t, map[string]int{"a": 300, "b": 300}), writeNumbers(t, map[string]int{"a": 200})
	options := example.Options{BatchSize: 7, Epochs: 3, ShuffleBuffer: 50, Seed: 3}
	alone := options
	alone.Patterns, options.Patterns, options.Only = []string{part}, []string{whole}, everyThird
	want := next(t, open(t, alone), 1000)
	for _, batch := range want {
		for i := range batch {
			batch[i] = 3*batch[i] + 2 // as numbered in the whole
		}
	}
	if diff := cmp.Diff(want, next(t, open(t, options), 1000)); diff != "" {
		t.Errorf("alone - chosen +\n%s", diff)
	}
	for _, batches := range []int{1, 28, 29, 60, 85} {
		r := open(t, options)
		if err := r.Skip(t.Context(), int64(batches)); err != nil {
			t.Fatal(err)
		}
		if got := next(t, r, 1000); !slices.EqualFunc(want[batches:], got, slices.Equal) {
			t.Errorf("after %d batches: %v, want %v", batches, got, want[batches:])
		}
	}
}

func TestADataSetOfWhichNothingIsChosenIsAnError(t *testing.T) {
	t.Parallel()
	r := open(t, example.Options{Patterns: []string{writeNumbers(t, map[string]int{"a": 3})}, BatchSize: 1, Only: func(int64) bool { return false }})
	_, err := r.Next(t.Context())
	if err == nil || errors.Is(err, io.EOF) || !errors.Is(err, example.ErrInput) || !strings.Contains(err.Error(), "none of the 3 records is to be read") {
		t.Errorf("error is %v", err)
	}
}
