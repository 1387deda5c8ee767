package autodiff_test

import (
	"math"
	"testing"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/autodiff"
)

// gradientTolerance is for central differences of a float32 forward pass whose loss is summed in
// float64: with a step of 1e-2 the loss's own rounding (about 1e-7) leaves 1e-5, and the third
// derivative times the squared step up to 1e-4 each.
const gradientTolerance = 1e-3

// net builds a model from its layers; three classes or outputs.
type net func(b *nn.Builder) nn.Ref

// pair returns two values of a width, the second above 0.
func pair(b *nn.Builder, width int) (x, positive nn.Ref) {
	in := b.Input("x", nn.Float32, 2)
	x = b.Dense("one", in, width, nn.OpTanh)
	return x, b.Activation("other/positive", b.Dense("other", in, width, ""), nn.OpSoftplus)
}

var inputs = map[string]nn.Value{
	"x":  nn.Floats(2, 0.5, -1.25, 1.5, 0.75, -0.3, 0.9),
	"x2": nn.Floats(2, 0.5, -1.25, 1.5, 0.75, -0.3, 0.9),
	"id": nn.Ints(2, 0, 3, 3, 3, 1, 0),
	"s":  nn.Strings(1, "a", "b", "zz"),
}

func x(b *nn.Builder) nn.Ref  { return b.Input("x", nn.Float32, 2) }
func id(b *nn.Builder) nn.Ref { return b.Input("id", nn.Int64, 2) }

var nets = map[string]net{
	"dense": func(b *nn.Builder) nn.Ref { return b.Dense("dense", x(b), 3, "") },
	"tanh":  func(b *nn.Builder) nn.Ref { return b.Dense("out", b.Dense("hidden", x(b), 4, nn.OpTanh), 3, "") },
	"relu":  func(b *nn.Builder) nn.Ref { return b.Dense("out", b.Dense("hidden", x(b), 4, nn.OpRelu), 3, "") },
	"sigmoid": func(b *nn.Builder) nn.Ref {
		return b.Dense("out", b.Dense("hidden", x(b), 4, nn.OpSigmoid), 3, "")
	},
	"softmax inside": func(b *nn.Builder) nn.Ref {
		return b.Dense("out", b.Dense("hidden", x(b), 4, nn.OpSoftmax), 3, "")
	},
	"embedding with ids that repeat": func(b *nn.Builder) nn.Ref {
		return b.Dense("out", b.Embedding("table", id(b), 4, 2), 3, "")
	},
	"embedding with numbers": func(b *nn.Builder) nn.Ref {
		return b.Dense("out", b.Concat("all", x(b), b.Embedding("table", id(b), 4, 2)), 3, "")
	},
	"one-hot of strings": func(b *nn.Builder) nn.Ref {
		ids := b.Vocabulary("ids", b.Input("s", nn.String, 1), []string{"a", "b"})
		return b.Dense("out", b.OneHot("hot", ids, 3), 3, "")
	},
	"normalized inside": func(b *nn.Builder) nn.Ref {
		h := b.Dense("hidden", x(b), 3, nn.OpTanh)
		return b.Dense("out", b.Normalize("norm", h, []float32{.1, -.2, .3}, []float32{2, .5, 1}), 3, "")
	},
	"two ways combined, of one width": func(b *nn.Builder) nn.Ref {
		x, y := pair(b, 3)
		z := b.Sub("sub", b.Mul("mul", x, y), b.Div("div", x, y))
		return b.Add("add", z, b.Maximum("maximum", b.Minimum("minimum", x, y), z))
	},
	"two ways combined, one narrow": func(b *nn.Builder) nn.Ref {
		x, _ := pair(b, 3)
		y := b.Activation("positive", b.Dense("narrow", b.Input("x2", nn.Float32, 2), 1, ""), nn.OpSoftplus)
		z := b.Sub("sub", b.Mul("mul", x, y), b.Div("div", x, y))
		return b.Add("add", b.Add("plus", z, y), b.Maximum("maximum", b.Minimum("minimum", x, y), y))
	},
	"functions of all numbers": func(b *nn.Builder) nn.Ref {
		x, _ := pair(b, 3)
		for _, op := range []nn.Op{nn.OpNeg, nn.OpAbs, nn.OpExpm1, nn.OpSquare, nn.OpExp, nn.OpTanh, nn.OpSoftplus} {
			x = b.Apply(string(op), x, op)
		}
		return b.Dense("out", x, 3, "")
	},
	"functions of positive numbers": func(b *nn.Builder) nn.Ref {
		_, x := pair(b, 3)
		for _, op := range []nn.Op{nn.OpInverse, nn.OpSqrt, nn.OpLog1p, nn.OpLog} {
			x = b.Apply(string(op), x, op)
		}
		return b.Dense("out", x, 3, "")
	},
	"leaky relu": func(b *nn.Builder) nn.Ref {
		return b.Dense("out", b.LeakyRelu("leaky", b.Dense("hidden", x(b), 4, ""), 0.2), 3, "")
	},
	"one param for all": func(b *nn.Builder) nn.Ref {
		x, y := pair(b, 3)
		for _, f := range []func(string, nn.Ref, nn.Ref) nn.Ref{b.Add, b.Mul, b.Sub, b.Div} {
			x = f(x.Name+"'", x, b.Constant(x.Name+" constant", 1.5))
		}
		return b.Add("all", x, y)
	},
	"rows reduced": func(b *nn.Builder) nn.Ref {
		x, _ := pair(b, 3)
		return b.Concat("all", b.Sum("sum", x), b.Mean("mean", x), b.Max("max", x))
	},
	"slices": func(b *nn.Builder) nn.Ref {
		x, _ := pair(b, 4)
		return b.Concat("all", b.Slice("last", x, 3, 4), b.Slice("first", x, 0, 2))
	},
	"layer normalization": func(b *nn.Builder) nn.Ref {
		h := b.LayerNormalization("norm", b.Dense("hidden", x(b), 4, nn.OpTanh), 0.1)
		return b.Dense("out", b.Activation("again", h, nn.OpTanh), 3, "")
	},
	"wide and deep": func(b *nn.Builder) nn.Ref {
		s := b.Vocabulary("ids", b.Input("s", nn.String, 1), []string{"a", "b"})
		return b.WideDeep("model", nn.WideDeep{
			Deep: []nn.Ref{x(b), b.Input("x2", nn.Float32, 2)}, Hidden: []int{3, 2}, Wide: []nn.Ref{id(b), s}, Depth: []int{4, 3}, Units: 3,
		})
	},
	"two ways added": func(b *nn.Builder) nn.Ref {
		in := x(b)
		return b.Add("sum", b.Dense("wide", in, 3, ""), b.Dense("deep", b.Dense("hidden", in, 2, nn.OpTanh), 3, ""))
	},
}

var targets = []float32{0, 1, 0, 1, 0, 0, 0, 0, 1}

func build(t *testing.T, layers net, loss nn.Loss, seed int64) *nn.Model {
	t.Helper()
	b := nn.NewBuilder(nn.NewRand(seed))
	logits := layers(b)
	b.Output("logits", logits)
	b.Output("predictions", loss.Predict(b, "predictions", logits))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	m, err := nn.NewModel(g, logits.Name, loss)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func program(t *testing.T, m *nn.Model, batch int) *autodiff.Program {
	t.Helper()
	p, err := autodiff.NewProgram(m, batch)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// lossOf returns the weighted mean loss, computed in plain Go.
func lossOf(t *testing.T, m *nn.Model, b nn.Batch) float64 {
	t.Helper()
	out, err := nn.Eval(m.Graph, b.Inputs)
	if err != nil {
		t.Fatal(err)
	}
	logits, w, sum, total := out["logits"].Floats, m.Width(), 0.0, 0.0
	for r := range b.Rows {
		weight := 1.0
		if b.Weights != nil {
			weight = float64(b.Weights[r])
		}
		sum += weight * m.Loss.Row(logits[r*w:(r+1)*w], b.Targets[r*w:(r+1)*w])
		total += weight
	}
	return sum / total
}

var losses = []nn.Loss{nn.SoftmaxCrossEntropy{}, nn.SigmoidCrossEntropy{}, nn.MeanSquaredError{}, nn.Huber{Delta: 0.7},
	nn.SoftmaxCrossEntropy{Smoothing: 0.1}, nn.SigmoidCrossEntropy{Smoothing: 0.2}}

func TestGradientsAreTheSlopeOfTheLoss(t *testing.T) {
	t.Parallel()
	for name, layers := range nets {
		for _, loss := range losses {
			t.Run(name+"/"+loss.Name(), func(t *testing.T) {
				t.Parallel()
				m := build(t, layers, loss, 7)
				nudge(m)
				b := nn.Batch{Rows: 3, Inputs: inputs, Targets: targets, Weights: []float32{1, 2, 0.5}}
				// 5 rows: two of them are padding, and must not count.
				got, grads, err := program(t, m, 5).Gradients(b)
				if err != nil {
					t.Fatal(err)
				}
				if want := lossOf(t, m, b); math.Abs(float64(got)-want) > 1e-6*max(1, want) {
					t.Errorf("loss is %v, plain Go has %v", got, want)
				}
				checkSlopes(t, m, b, grads)
			})
		}
	}
}

// In a batch of one row, operands that are repeated along the batch can't be distinguished from
// others.
func TestGradientsOfOneRow(t *testing.T) {
	t.Parallel()
	one := map[string]nn.Value{
		"x": nn.Floats(2, 0.5, -1.25), "x2": nn.Floats(2, 0.5, -1.25), "id": nn.Ints(2, 3, 3), "s": nn.Strings(1, "b"),
	}
	for name, layers := range nets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := build(t, layers, nn.MeanSquaredError{}, 7)
			nudge(m)
			b := nn.Batch{Rows: 1, Inputs: one, Targets: targets[:3]}
			_, grads, err := program(t, m, 1).Gradients(b)
			if err != nil {
				t.Fatal(err)
			}
			checkSlopes(t, m, b, grads)
		})
	}
}

// The slope jumps where an error is 0, so no error may be near 0.
func TestGradientsAreTheSlopeOfAbsoluteErrors(t *testing.T) {
	t.Parallel()
	m := build(t, nets["tanh"], nn.MeanAbsoluteError{}, 7)
	nudge(m)
	b := nn.Batch{Rows: 3, Inputs: inputs, Targets: []float32{5, -5, 5, -5, -5, -5, 5, 5, 5}, Weights: []float32{1, 2, 0.5}}
	checkSlopes(t, m, b, gradients(t, program(t, m, 5), b))
}

// nudge moves biases away from 0, so that a missing gradient would be noticed.
func nudge(m *nn.Model) {
	for i := range m.Weights() {
		m.Weights()[i] += 0.05 * float32(i%5-2)
	}
}

func checkSlopes(t *testing.T, m *nn.Model, b nn.Batch, grads []float32) {
	t.Helper()
	checkSlopesOf(t, m.Weights(), grads, func() float64 { return lossOf(t, m, b) })
}

// checkSlopesOf compares grads with central differences of a loss, a function of weights.
func checkSlopesOf(t *testing.T, weights, grads []float32, loss func() float64) {
	t.Helper()
	const step = 1e-2
	for i := range weights {
		was := weights[i]
		weights[i] = was + step
		up := loss()
		weights[i] = was - step
		down := loss()
		weights[i] = was
		slope := (up - down) / (2 * step)
		if math.Abs(slope-float64(grads[i])) > gradientTolerance*max(1, math.Abs(slope)) {
			t.Errorf("weight %d: gradient %v, slope %v", i, grads[i], slope)
		}
	}
}

// The relu has slope 0 at 0, as in TensorFlow.
func TestReluHasNoSlopeAtZero(t *testing.T) {
	t.Parallel()
	m := build(t, func(b *nn.Builder) nn.Ref {
		return b.Activation("relu", b.Dense("d", b.Input("x", nn.Float32, 1), 1, ""), nn.OpRelu)
	}, nn.MeanSquaredError{}, 1)
	clear(m.Weights())
	_, grads, err := program(t, m, 1).Gradients(nn.Batch{
		Rows: 1, Inputs: map[string]nn.Value{"x": nn.Floats(1, 1)}, Targets: []float32{1},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range grads {
		if g != 0 {
			t.Errorf("gradient %d is %v, expected 0", i, g)
		}
	}
}

func TestGradientsRefuseWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	p := program(t, build(t, nets["dense"], nn.SoftmaxCrossEntropy{}, 1), 3)
	good := nn.Batch{Rows: 3, Inputs: inputs, Targets: targets}
	for name, change := range map[string]func(*nn.Batch){
		"batch of 4 rows, expected 1 to 3":                           func(b *nn.Batch) { b.Rows = 4 },
		"8 targets for 3 rows of width 3":                            func(b *nn.Batch) { b.Targets = b.Targets[:8] },
		"1 weights for 3 rows":                                       func(b *nn.Batch) { b.Weights = []float32{1} },
		"the weights of the batch add up to 0, expected more than 0": func(b *nn.Batch) { b.Weights = make([]float32, 3) },
		`input "x" is missing`:                                       func(b *nn.Batch) { b.Inputs = nil },
		`input "x": is int64[b,2], expected float32[b,2]`: func(b *nn.Batch) {
			b.Inputs = map[string]nn.Value{"x": nn.Ints(2, 1, 2, 3, 4, 5, 6)}
		},
		"inputs have 1 rows, the batch says 3": func(b *nn.Batch) {
			b.Inputs = map[string]nn.Value{"x": nn.Floats(2, 1, 2)}
		},
	} {
		b := good
		change(&b)
		if _, _, err := p.Gradients(b); err == nil || err.Error() != name {
			t.Errorf("error is %v, expected %s", err, name)
		}
	}
	if _, _, err := p.Gradients(good); err != nil {
		t.Errorf("after the refusals: %v", err)
	}
}
