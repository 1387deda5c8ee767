package autodiff_test

import (
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/autodiff"
)

// trainedBy takes steps of a network that is large enough for two threads.
func trainedBy(t *testing.T, threads int) []float32 {
	t.Helper()
	const rows, in = 128, 96
	r := nn.NewRand(4)
	x, y := make([]float32, rows*in), make([]float32, rows)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	for i := range y {
		y[i] = x[i*in] * x[i*in+1]
	}
	b := nn.NewBuilder(nn.NewRand(5))
	h := b.Dense("two", b.Dense("one", b.Input("x", nn.Float32, in), 192, nn.OpRelu), 64, nn.OpTanh)
	out := b.Dense("out", h, 1, "")
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	m, err := nn.NewModel(g, out.Name, nn.MeanSquaredError{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := autodiff.NewProgramWith(m, rows, autodiff.Options{Threads: threads})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	o := optimizer(t, "adam")
	for range 10 {
		if _, err := p.Step(nn.Batch{Rows: rows, Inputs: map[string]nn.Value{"x": nn.Floats(in, x...)}, Targets: y}, o); err != nil {
			t.Fatal(err)
		}
	}
	return m.Weights()
}

func TestTheNumberOfThreadsChangesNoBit(t *testing.T) {
	t.Parallel()
	alone := trainedBy(t, 1)
	for _, threads := range []int{2, 3} {
		if !slices.Equal(alone, trainedBy(t, threads)) {
			t.Errorf("%d threads gave other weights than one", threads)
		}
	}
	if _, err := autodiff.NewProgramWith(nil, 1, autodiff.Options{Threads: -1}); err == nil {
		t.Error("-1 threads: no error")
	}
}
