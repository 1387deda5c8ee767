package autodiff_test

import (
	"math"
	"testing"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/initializer"
)

func TestPenaltiesAddToTheLoss(t *testing.T) {
	t.Parallel()
	layers := func(p nn.Penalty) net {
		return func(b *nn.Builder) nn.Ref {
			h := b.DenseWith("hidden", x(b), 2, nn.DenseOptions{NoBias: true, Kernel: nn.ParamOptions{Initializer: initializer.ConstantOf(-0.5), Penalty: p}})
			return b.Dense("out", b.Concat("all", h, b.EmbeddingWith("table", id(b), 4, 1, nn.ParamOptions{Initializer: initializer.Ones, Penalty: p})), 3, "")
		}
	}
	b := nn.Batch{Rows: 3, Inputs: inputs, Targets: targets}
	lossWith := func(p nn.Penalty) float64 {
		m := build(t, layers(p), nn.MeanSquaredError{}, 1)
		loss, _, err := program(t, m, 3).Gradients(b)
		if err != nil {
			t.Fatal(err)
		}
		// Four weights of -0.5, four of 1.
		if got, want := m.Penalty(), p.L1*6+p.L2*5; math.Abs(got-want) > 1e-9 {
			t.Errorf("penalty %v, expected %v", got, want)
		}
		return float64(loss)
	}
	none := lossWith(nn.Penalty{})
	for _, p := range []nn.Penalty{{L1: 0.1}, {L2: 0.01}, {L1: 0.1, L2: 0.01}} {
		if got, want := lossWith(p)-none, p.L1*6+p.L2*5; math.Abs(got-want) > 1e-6 {
			t.Errorf("%+v adds %v, expected %v", p, got, want)
		}
	}
}

// A prediction uses the moving averages, and these are updated as the comment of BatchNormalization
// describes.
func TestMovingAveragesMove(t *testing.T) {
	t.Parallel()
	m := build(t, func(b *nn.Builder) nn.Ref {
		return b.Dense("out", b.BatchNormalization("norm", x(b), nn.BatchNorm{Momentum: 0.75, Epsilon: 0.5}), 3, "")
	}, nn.MeanSquaredError{}, 1)
	// Of the rows 1, 3 and 5, 5: the row of weight 0 counts as others do.
	b := nn.Batch{Rows: 2, Inputs: map[string]nn.Value{"x": nn.Floats(2, 1, 3, 5, 5)}, Targets: targets[:6], Weights: []float32{1, 0}}
	p := program(t, m, 4)
	if _, _, err := p.Gradients(b); err != nil {
		t.Fatal(err)
	}
	want := []float64{0.25 * 3, 0.25 * 4, math.Sqrt(0.75*1.5 + 0.25*4.5), math.Sqrt(0.75*1.5 + 0.25*1.5)}
	for i, v := range m.Moving() {
		if math.Abs(float64(v)-want[i]) > 1e-6 {
			t.Errorf("moving averages %v, expected %v", m.Moving(), want)
			break
		}
	}
	out, err := nn.Eval(m.Graph, map[string]nn.Value{"x": nn.Floats(2, 0.75, 1)})
	if err != nil {
		t.Fatal(err)
	}
	// The moving mean is normalized to 0, and the biases are 0.
	for j, z := range out["logits"].Floats {
		if z != 0 {
			t.Errorf("logit %d of the mean is %v, expected 0", j, z)
		}
	}
}
