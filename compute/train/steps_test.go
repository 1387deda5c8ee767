package train_test

import (
	"context"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/train"
)

// held yields batches in memory, repeatedly.
type held struct {
	batches []nn.Batch
	given   int
	end     int             // number of batches; 0: no end
	before  func(given int) // called before each batch; may be nil
}

func (h *held) Next(context.Context) (nn.Batch, error) {
	if h.before != nil {
		h.before(h.given)
	}
	if h.end > 0 && h.given == h.end {
		return nn.Batch{}, io.EOF
	}
	h.given++
	return h.batches[(h.given-1)%len(h.batches)], nil
}

// drawn returns rows of random numbers with classes, the same ones each time.
func drawn(rows, width, classes int) *held {
	random := rand.New(rand.NewPCG(1, 2))
	h := &held{}
	for range 5 {
		b := nn.Batch{Rows: rows, Targets: make([]float32, rows*classes), Weights: make([]float32, rows)}
		x := make([]float32, rows*width)
		for i := range x {
			x[i] = float32(random.NormFloat64())
		}
		for r := range rows {
			b.Targets[r*classes+random.IntN(classes)] = 1
			b.Weights[r] = 1 + random.Float32()
		}
		b.Inputs = map[string]nn.Value{"x": nn.Floats(width, x...)}
		h.batches = append(h.batches, b)
	}
	return h
}

func layers(t testing.TB, width, units, classes int) *nn.Model {
	t.Helper()
	return build(t, nn.SoftmaxCrossEntropy{}, func(b *nn.Builder) nn.Ref {
		x := b.BatchNormalization("norm", b.Dense("one", b.Input("x", nn.Float32, width), units, nn.OpRelu), nn.BatchNorm{})
		return b.Dense("logits", b.Dropout("drop", b.Dense("two", x, units, nn.OpTanh), 0.3), classes, "")
	})
}

// Threads divide the work without changing the order of any sum: neither threads nor resuming
// change a bit.
func TestThreadsAndResumingChangeNoBit(t *testing.T) {
	t.Parallel()
	run := func(threads, steps int, dir string) []float32 {
		m := layers(t, 64, 128, 3)
		o := options(steps)
		o.BatchSize, o.Threads = 96, threads
		o.Checkpoints = train.Checkpoints{Dir: dir, Last: true}
		if _, err := train.Run(t.Context(), o, m, drawn(96, 64, 3), nil); err != nil {
			t.Fatal(err)
		}
		return slices.Concat(m.Weights(), m.Moving())
	}
	want := run(1, 30, "")
	for _, threads := range []int{1, 2, 3} {
		if diff := cmp.Diff(want, run(threads, 30, "")); diff != "" {
			t.Errorf("%d threads: %.300s", threads, diff)
		}
		dir := t.TempDir()
		run(threads, 13, dir)
		if diff := cmp.Diff(want, run(3-threads%3, 30, dir)); diff != "" {
			t.Errorf("resumed after %d threads: %.300s", threads, diff)
		}
	}
	o := options(1)
	o.Threads = -1
	if _, err := train.Run(t.Context(), o, layers(t, 4, 4, 3), drawn(4, 4, 3), nil); err == nil {
		t.Error("-1 threads: no error")
	}
}

// A step allocates nothing, except for its source. It is not parallel, because allocations of other
// tests would be counted.
func TestAStepAllocatesNothing(t *testing.T) {
	const warm, steps = 20, 520
	for name, threads := range map[string]int{"one thread": 1, "two threads": 2} {
		data := drawn(64, 32, 3)
		data.end = steps
		var begun, ended runtime.MemStats
		data.before = func(given int) {
			switch given {
			case warm:
				runtime.ReadMemStats(&begun)
			case steps:
				runtime.ReadMemStats(&ended)
			}
		}
		o := options(0)
		o.BatchSize, o.Threads, o.LogEvery = 64, threads, 1000
		if _, err := train.Run(t.Context(), o, layers(t, 32, 64, 3), data, nil); err != nil {
			t.Fatal(err)
		}
		// The runtime itself allocates occasionally.
		if n := ended.Mallocs - begun.Mallocs; n > (steps-warm)/10 {
			t.Errorf("%s: %d allocations in %d steps", name, n, steps-warm)
		}
	}
}
