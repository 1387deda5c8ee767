package skew_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/skew"
)

// largeTerms returns a net of the probabilities of three classes, as a model becomes that is
// trained for long: its logits are sums of large numbers that are alike for all classes, so that
// their rounding shows in the probabilities.
func largeTerms(t *testing.T, seed uint64, large float32) *nn.Graph {
	t.Helper()
	b := nn.NewBuilder(nn.NewRand(int64(seed)))
	var columns []nn.Ref
	for _, name := range measures {
		columns = append(columns, b.Input(name, nn.Float32, 1))
	}
	hidden := b.Dense("second", b.Dense("first", b.Concat("features", columns...), 64, nn.OpRelu), 64, nn.OpRelu)
	b.Output("probabilities", b.Activation("softmax", b.Dense("logits", hidden, 3, ""), nn.OpSoftmax))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	random, kernel := rand.New(rand.NewPCG(seed, 0)), g.Params[len(g.Params)-2]
	for i := 0; i < len(kernel.Values); i += 3 {
		common := large * (random.Float32() - 0.5)
		for class := range 3 {
			kernel.Values[i+class] += common
		}
	}
	return g
}

// reordered returns the same model with the units of its second layer in reverse order: sums of the
// last layer are rounded differently, whatever kernels compute them.
func reordered(g *nn.Graph) *nn.Graph {
	copied := *g
	copied.Params = slices.Clone(g.Params)
	n := len(g.Params)
	kernel, bias, logits := &copied.Params[n-4], &copied.Params[n-3], &copied.Params[n-2]
	// Reverses the units of numbers [rows, units, width]
	reverse := func(p *nn.Param, rows, units, width int) {
		values := make([]float32, 0, len(p.Values))
		for row := range rows {
			for unit := range units {
				from := (row*units + units - 1 - unit) * width
				values = append(values, p.Values[from:from+width]...)
			}
		}
		p.Values = values
	}
	reverse(kernel, kernel.Shape[0], kernel.Shape[1], 1)
	reverse(bias, 1, bias.Shape[0], 1)
	reverse(logits, 1, logits.Shape[0], logits.Shape[1])
	return &copied
}

func TestARightModelIsNotRefusedForItsRounding(t *testing.T) {
	t.Parallel()
	beyond := 0
	for seed := range uint64(10) {
		for _, large := range []float32{1000, 10000} {
			g := largeTerms(t, seed, large)
			r := ask(t, trained{g, reordered(g), penguinGraph}.question(t))
			if r.Rows != 100 || len(r.Differences) > 0 {
				t.Errorf("seed %d, terms of %g: %+v", seed, large, r)
			}
			if r.MaxAbs > 2*skew.DefaultTolerance {
				beyond++
			}
		}
	}
	if beyond < 10 {
		t.Errorf("of 20 models %d answer beyond the tolerance: these are none that rounding shows in", beyond)
	}
}

// The tolerance for rounding does not hide a model that is served with other weights or after
// another transform graph.
func TestSkewIsFoundDespiteRounding(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		g, other := largeTerms(t, seed, 1000), largeTerms(t, seed, 1000)
		if r := ask(t, trained{g, g, shifted(t)}.question(t)); len(r.Differences) == 0 {
			t.Errorf("seed %d, another transform graph: %+v", seed, r)
		}
		for i := range other.Params[0].Values {
			other.Params[0].Values[i] *= 1.01
		}
		if r := ask(t, trained{g, other, penguinGraph}.question(t)); len(r.Differences) == 0 {
			t.Errorf("seed %d, other weights: %+v", seed, r)
		}
	}
}
