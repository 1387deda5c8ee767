package nn_test

import (
	"fmt"
	"testing"

	"github.com/stoker-ml/stoker/compute/nn"
)

func TestLayersSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	for want, layer := range map[string]func(*nn.Builder) nn.Ref{
		`layer "norm": momentum 1 and epsilon 0.001, expected 0 to below 1 and above 0`: func(b *nn.Builder) nn.Ref {
			return b.BatchNormalization("norm", b.Input("x", nn.Float32, 2), nn.BatchNorm{Momentum: 1})
		},
		`layer "norm": epsilon -1, expected a number above 0`: func(b *nn.Builder) nn.Ref {
			return b.LayerNormalization("norm", b.Input("x", nn.Float32, 2), -1)
		},
		`param "d/kernel": penalty l1 -1, l2 0: expected numbers of 0 or more`: func(b *nn.Builder) nn.Ref {
			return b.DenseWith("d", b.Input("x", nn.Float32, 2), 2, nn.DenseOptions{Kernel: nn.ParamOptions{Penalty: nn.Penalty{L1: -1}}})
		},
		`wide & deep "m": 1 numbers, 1 hidden layers, 1 ids with 0 depths: expected some of each, and a depth for each id`: func(b *nn.Builder) nn.Ref {
			return b.WideDeep("m", nn.WideDeep{Deep: []nn.Ref{b.Input("x", nn.Float32, 2)}, Hidden: []int{1}, Wide: []nn.Ref{b.Input("id", nn.Int64, 2)}})
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
		y := b.Dense("d", b.Input("x", nn.Float32, 2), 3, "")
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
