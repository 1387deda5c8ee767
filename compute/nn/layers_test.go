package nn_test

import (
	"fmt"
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
		if got, want := m.Penalty(), p.L1*6+p.L2*5; math.Abs(got-want) > 1e-9 { // four weights of -0.5, four of 1
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

// A prediction takes the moving averages, and these move as the comment of BatchNormalization says.
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
	for j, z := range out["logits"].Floats { // the moving mean is normalized to 0, and the biases are 0
		if z != 0 {
			t.Errorf("logit %d of the mean is %v, expected 0", j, z)
		}
	}
}

func TestLayersSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	for want, layer := range map[string]func(*nn.Builder) nn.Ref{
		`layer "norm": momentum 1 and epsilon 0.001, expected 0 to below 1 and above 0`: func(b *nn.Builder) nn.Ref {
			return b.BatchNormalization("norm", x(b), nn.BatchNorm{Momentum: 1})
		},
		`layer "norm": epsilon -1, expected a number above 0`: func(b *nn.Builder) nn.Ref {
			return b.LayerNormalization("norm", x(b), -1)
		},
		`param "d/kernel": penalty l1 -1, l2 0: expected numbers of 0 or more`: func(b *nn.Builder) nn.Ref {
			return b.DenseWith("d", x(b), 2, nn.DenseOptions{Kernel: nn.ParamOptions{Penalty: nn.Penalty{L1: -1}}})
		},
		`wide & deep "m": 1 numbers, 1 hidden layers, 1 ids with 0 depths: expected some of each, and a depth for each id`: func(b *nn.Builder) nn.Ref {
			return b.WideDeep("m", nn.WideDeep{Deep: []nn.Ref{x(b)}, Hidden: []int{1}, Wide: []nn.Ref{id(b)}})
		},
	} {
		b := nn.NewBuilder(nn.NewRand(1))
		b.Output("y", layer(b))
		if _, err := b.Graph(); err == nil || err.Error() != want {
			t.Errorf("error is %v, expected %s", err, want)
		}
	}
	for want, loss := range map[string]nn.Loss{
		"huber: delta -1, expected a number above 0":           nn.Huber{Delta: -1},
		"label smoothing 1: expected 0 or more and below 1":    nn.SoftmaxCrossEntropy{Smoothing: 1},
		"label smoothing -0.5: expected 0 or more and below 1": nn.SigmoidCrossEntropy{Smoothing: -0.5},
	} {
		b := nn.NewBuilder(nn.NewRand(1))
		y := b.Dense("d", x(b), 3, "")
		b.Output("y", y)
		g, err := b.Graph()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := nn.NewModel(g, y.Name, loss); err == nil || err.Error() != want {
			t.Errorf("error is %v, expected %s", err, want)
		}
	}
}

func ExampleBuilder_WideDeep() {
	b := nn.NewBuilder(nn.NewRand(1))
	logits := b.WideDeep("taxi", nn.WideDeep{
		Deep:   []nn.Ref{b.Input("trip_miles_xf", nn.Float32, 1), b.Input("fare_xf", nn.Float32, 1), b.Input("trip_seconds_xf", nn.Float32, 1)},
		Hidden: []int{100, 70, 48, 34},
		Wide:   []nn.Ref{b.Input("company_xf", nn.Int64, 1), b.Input("trip_start_hour_xf", nn.Int64, 1)},
		Depth:  []int{1010, 24},
	})
	b.Output("outputs", nn.SigmoidCrossEntropy{}.Predict(b, "probabilities", logits))
	g, err := b.Graph()
	if err != nil {
		panic(err)
	}
	for _, p := range g.Params {
		fmt.Println(p.Name, p.Shape)
	}
	// Output:
	// taxi/deep_0/kernel [3 100]
	// taxi/deep_0/bias [100]
	// taxi/deep_1/kernel [100 70]
	// taxi/deep_1/bias [70]
	// taxi/deep_2/kernel [70 48]
	// taxi/deep_2/bias [48]
	// taxi/deep_3/kernel [48 34]
	// taxi/deep_3/bias [34]
	// taxi/logits/kernel [1068 1]
	// taxi/logits/bias [1]
}
