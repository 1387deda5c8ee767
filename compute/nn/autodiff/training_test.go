package autodiff_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/autodiff"
	"github.com/stoker-ml/stoker/compute/nn/initializer"
)

// trained are nets whose training has other nodes than a prediction. Their loss in training is not
// a function of Eval.
var trained = map[string]net{
	"dropout": func(b *nn.Builder) nn.Ref {
		return b.Dense("out", b.Dropout("drop", b.Dense("hidden", x(b), 8, nn.OpTanh), 0.4), 3, "")
	},
	"dropout of an input, twice": func(b *nn.Builder) nn.Ref {
		in := b.Dropout("again", b.Dropout("drop", x(b), 0.3), 0.3)
		return b.Add("both", b.Dense("out", in, 3, ""), b.Dense("plain", in, 3, ""))
	},
	"batch normalization": func(b *nn.Builder) nn.Ref {
		h := b.BatchNormalization("norm", b.Dense("hidden", x(b), 4, ""), nn.BatchNorm{})
		return b.Dense("out", b.Activation("tanh", h, nn.OpTanh), 3, "")
	},
	"batch normalization of an input, plain": func(b *nn.Builder) nn.Ref {
		h := b.BatchNormalization("norm", x(b), nn.BatchNorm{NoScale: true, NoCenter: true})
		return b.Dense("out", h, 3, "")
	},
	"batch normalization, then dropout": func(b *nn.Builder) nn.Ref {
		h := b.BatchNormalization("norm", b.Dense("hidden", x(b), 4, nn.OpTanh), nn.BatchNorm{Epsilon: 0.5})
		return b.Dense("out", b.Dropout("drop", h, 0.5), 3, "")
	},
}

func TestGradientsAreTheSlopeOfTheLossInTraining(t *testing.T) {
	t.Parallel()
	for name, layers := range trained {
		for _, loss := range losses {
			t.Run(name+"/"+loss.Name(), func(t *testing.T) {
				t.Parallel()
				m := build(t, layers, loss, 7)
				nudge(m)
				b := nn.Batch{Rows: 3, Inputs: inputs, Targets: targets, Weights: []float32{1, 2, 0.5}}
				p := program(t, m, 5) // two rows are padding, and must not count
				checkSlopesOf(t, m.Weights(), gradients(t, p, b), func() float64 {
					p.Resume(0) // the same dropout each time
					loss, _, err := p.Gradients(b)
					if err != nil {
						t.Fatal(err)
					}
					return float64(loss)
				})
			})
		}
	}
}

func gradients(t *testing.T, p *autodiff.Program, b nn.Batch) []float32 {
	t.Helper()
	_, grads, err := p.Gradients(b)
	if err != nil {
		t.Fatal(err)
	}
	return append([]float32(nil), grads...)
}

// A model's file has no layers that exist only in training.
func TestAPredictionHasNoDropout(t *testing.T) {
	t.Parallel()
	dropped := func(rate float64) map[string]nn.Value {
		m := build(t, func(b *nn.Builder) nn.Ref {
			h := b.Dropout("drop", b.Dense("hidden", x(b), 4, nn.OpRelu), rate)
			return b.Dense("out", b.Dropout("drop too", h, rate), 3, "")
		}, nn.SoftmaxCrossEntropy{}, 3)
		for i := range m.Weights() {
			// Independent of the numbers drawn after the dropouts' seed.
			m.Weights()[i] = float32(i%7) - 3
		}
		for _, n := range m.Graph.Nodes {
			if n.Op == nn.OpDropout {
				t.Errorf("node %q is in the model", n.Name)
			}
		}
		out, err := nn.Eval(m.Graph, inputs)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if diff := cmp.Diff(dropped(0), dropped(0.5)); diff != "" {
		t.Error(diff)
	}
}

// Each step draws anew, and a resumed training draws the same as an uninterrupted one.
func TestDropoutDependsOnTheStep(t *testing.T) {
	t.Parallel()
	m := build(t, trained["dropout"], nn.MeanSquaredError{}, 3)
	b := nn.Batch{Rows: 3, Inputs: inputs, Targets: targets}
	p := program(t, m, 3)
	first, second, third := gradients(t, p, b), gradients(t, p, b), gradients(t, p, b)
	if cmp.Equal(first, second) || cmp.Equal(second, third) {
		t.Error("two steps dropped the same")
	}
	again := program(t, m, 3)
	again.Resume(2)
	if diff := cmp.Diff(third, gradients(t, again, b)); diff != "" {
		t.Errorf("resumed: %s", diff)
	}
}

// A row of ones, dropped: the remaining ones are the slopes of the weights after it.
func TestEachDropoutDrawsItsOwn(t *testing.T) {
	t.Parallel()
	const width = 64
	m := build(t, func(b *nn.Builder) nn.Ref {
		in := b.Input("x", nn.Float32, width)
		one := b.Matrix("one", "one/kernel", initializer.Zeros, b.Dropout("drop one", in, 0.5), 1)
		return b.Add("both", one, b.Matrix("other", "other/kernel", initializer.Zeros, b.Dropout("drop other", in, 0.5), 1))
	}, nn.MeanSquaredError{}, 1)
	ones := make([]float32, width)
	initializer.Ones(ones, nil, nil)
	grads := gradients(t, program(t, m, 1), nn.Batch{
		// The slope at 0 is 1.
		Rows: 1, Inputs: map[string]nn.Value{"x": nn.Floats(width, ones...)}, Targets: []float32{-0.5},
	})
	if cmp.Equal(grads[:width], grads[width:]) {
		t.Error("two layers of one rate dropped the same")
	}
	kept := 0
	for _, g := range grads {
		if g != 0 && g != 2 {
			t.Errorf("an element of 1 became %v, expected 0 or 2", g)
		}
		kept += int(g / 2)
	}
	if kept < 40 || kept > 88 { // 128 draws: 64, plus or minus 4 standard deviations
		t.Errorf("%d of 128 are left, expected about half", kept)
	}
}

func TestADropoutOfNothingIsNoLayer(t *testing.T) {
	t.Parallel()
	b := nn.NewBuilder(nn.NewRand(1))
	in := x(b)
	if got := b.Dropout("drop", in, 0); got != in {
		t.Errorf("a rate of 0 gave %v", got)
	}
	for _, rate := range []float64{-0.1, 1, math.NaN()} {
		b := nn.NewBuilder(nn.NewRand(1))
		b.Output("y", b.Dropout("drop", x(b), rate))
		if _, err := b.Graph(); err == nil {
			t.Errorf("rate %v: no error", rate)
		}
	}
}
