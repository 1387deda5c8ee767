package autodiff_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/compute/nn"
)

// far are logits whose rows are far apart: an implementation that subtracts another row's maximum
// underflows or overflows.
var far = map[string][]float32{
	"a row far above the first":   {0, 0, 0, 100, 0, -100},
	"a row far below the first":   {100, 100, 100, -100, -101, -100.5},
	"the first number is largest": {100, -100, 0, -100, -99, -100},
	"all large":                   {1000, 999, 998, -1000, -999, -998},
	"one row":                     {100, 0, -100},
}

// plainModel has the values of its input as logits: a layer with the identity and no bias.
func plainModel(t *testing.T, loss nn.Loss, act nn.Op) *nn.Model {
	t.Helper()
	m := build(t, func(b *nn.Builder) nn.Ref { return b.Dense("dense", b.Input("x", nn.Float32, 3), 3, act) }, loss, 1)
	copy(m.Weights(), []float32{1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0})
	return m
}

// plainBatch has class r for row r and the weights 1, 2, ...
func plainBatch(x []float32) nn.Batch {
	b := nn.Batch{Rows: len(x) / 3, Inputs: map[string]nn.Value{"x": nn.Floats(3, x...)}, Targets: make([]float32, len(x))}
	for r := range b.Rows {
		b.Targets[3*r+r] = 1
		b.Weights = append(b.Weights, float32(r+1))
	}
	return b
}

// checkRows compares loss and gradients with want, which returns, for a row z of the layer's values
// before its activation and its target, the loss and its slope along z. Tolerance: two dozen
// roundings of float32, at 6e-8 each, of numbers of the size of x.
func checkRows(t *testing.T, m *nn.Model, b nn.Batch, want func(z, t []float64) (loss float64, slope []float64)) {
	t.Helper()
	loss, grads, err := program(t, m, 4).Gradients(b)
	if err != nil {
		t.Fatal(err)
	}
	size, wantLoss, wantGrads, total := 0.0, 0.0, make([]float64, 12), 0.0
	for r := range b.Rows {
		total += float64(b.Weights[r])
	}
	for r := range b.Rows {
		z, weight := doubles(b.Inputs["x"].Floats[3*r:3*r+3]), float64(b.Weights[r])/total
		rowLoss, slope := want(z, doubles(b.Targets[3*r:3*r+3]))
		wantLoss += weight * rowLoss
		for j := range 3 {
			for i := range 3 {
				wantGrads[3*i+j] += weight * z[i] * slope[j]
			}
			wantGrads[9+j] += weight * slope[j]
			size = max(size, math.Abs(z[j]))
		}
	}
	tolerance := 2e-6 * max(1, size)
	if !(math.Abs(float64(loss)-wantLoss) <= tolerance) {
		t.Errorf("loss is %v, expected %v", loss, wantLoss)
	}
	for i, g := range grads {
		if !(math.Abs(float64(g)-wantGrads[i]) <= tolerance) {
			t.Errorf("gradient %d is %v, expected %v", i, g, wantGrads[i])
		}
	}
}

func doubles(x []float32) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out
}

func softmaxOf(z []float64) (p []float64, logSum float64) {
	m, sum := slices.Max(z), 0.0
	for _, x := range z {
		sum += math.Exp(x - m)
	}
	for _, x := range z {
		p = append(p, math.Exp(x-m)/sum)
	}
	return p, m + math.Log(sum)
}

func TestSoftmaxCrossEntropyTakesEachRowByItself(t *testing.T) {
	t.Parallel()
	for name, x := range far {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkRows(t, plainModel(t, nn.SoftmaxCrossEntropy{}, ""), plainBatch(x), func(z, target []float64) (loss float64, slope []float64) {
				p, logSum := softmaxOf(z)
				for j := range z {
					loss -= target[j] * (z[j] - logSum)
					slope = append(slope, p[j]-target[j])
				}
				return loss, slope
			})
		})
	}
}

func TestSoftmaxInsideANetTakesEachRowByItself(t *testing.T) {
	t.Parallel()
	for name, x := range far {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkRows(t, plainModel(t, nn.MeanSquaredError{}, nn.OpSoftmax), plainBatch(x), func(z, target []float64) (loss float64, slope []float64) {
				p, _ := softmaxOf(z)
				mean := 0.0
				for j := range z {
					loss += (p[j] - target[j]) * (p[j] - target[j]) / 3
					mean += p[j] * 2 * (p[j] - target[j]) / 3
				}
				for j := range z {
					slope = append(slope, (2*(p[j]-target[j])/3-mean)*p[j])
				}
				return loss, slope
			})
		})
	}
}

func TestSigmoidCrossEntropyIsFiniteFarOut(t *testing.T) {
	t.Parallel()
	for name, x := range far {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkRows(t, plainModel(t, nn.SigmoidCrossEntropy{}, ""), plainBatch(x), func(z, target []float64) (loss float64, slope []float64) {
				for j := range z {
					loss += (max(z[j], 0) + math.Log1p(math.Exp(-math.Abs(z[j]))) - target[j]*z[j]) / 3
					slope = append(slope, (1/(1+math.Exp(-z[j]))-target[j])/3)
				}
				return loss, slope
			})
		})
	}
}
