package train_test

import (
	"testing"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
)

// It reads, parses and feeds a batch: plain and compressed, in order and shuffled. It is not
// parallel, because allocations of other tests would be counted, as those of the goroutine that
// reads ahead are.
func TestABatchAllocatesNothing(t *testing.T) {
	spec := example.Spec{
		{Name: "area", Kind: example.Int64},
		{Name: "company", Kind: example.Bytes, Shape: []int{1}},
		{Name: "fare", Kind: example.Float},
		{Name: "label", Kind: example.Int64, Shape: []int{1}},
		{Name: "point", Kind: example.Float, Shape: []int{2}},
	}
	f := feed
	f.Weight = "area"
	for name, o := range map[string]example.Options{
		"plain": {}, "data.gz": {}, "shuffled": {ShuffleBuffer: 1000, Seed: 1}, "shuffled.gz": {ShuffleBuffer: 1000, Seed: 1},
	} {
		o.Spec, o.BatchSize = spec, 64
		o.Patterns = []string{split(t, map[string][]*example.Builder{name: repeated(5000, row())})}
		s := reading(t, f, o)
		next := func() {
			var b nn.Batch
			var err error
			if b, err = s.Next(t.Context()); err != nil || b.Rows != 64 {
				t.Fatal(b.Rows, err)
			}
		}
		for range 500 { // more than once through the data
			next()
		}
		// The mean is rounded down: opening a file again allocates, once in 78 batches.
		if n := testing.AllocsPerRun(400, next); n > 0 {
			t.Errorf("%s: %v allocations a batch", name, n)
		}
	}
}
