package autodiff_test

import (
	"testing"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/optim"
)

var optimizers = optim.Names()

func optimizer(t *testing.T, name string) optim.Optimizer {
	t.Helper()
	o, err := optim.New(name, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func with(t *testing.T, o optim.Optimizer, s optim.Settings) optim.Optimizer {
	t.Helper()
	o, err := optim.WithSettings(o, s)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestEveryOptimizerLowersTheLoss(t *testing.T) {
	t.Parallel()
	for _, name := range optimizers {
		m := build(t, nets["embedding with numbers"], nn.SoftmaxCrossEntropy{}, 5)
		b := nn.Batch{Rows: 3, Inputs: inputs, Targets: targets}
		before := lossOf(t, m, b)
		train(t, m, optimizer(t, name), 50)
		if after := lossOf(t, m, b); after > before/2 {
			t.Errorf("%s: loss went from %v to %v", name, before, after)
		}
	}
}

func TestAStepOfAnyOptimizerAllocatesNothing(t *testing.T) {
	all := map[string]func(t *testing.T, m *nn.Model) optim.Optimizer{
		"parts": func(t *testing.T, m *nn.Model) optim.Optimizer {
			o, err := optim.NewParts(m.Trainable(), optim.Part{Prefix: "hidden/", Optimizer: optimizer(t, "ftrl")}, optim.Part{Optimizer: optimizer(t, "adam")})
			if err != nil {
				t.Fatal(err)
			}
			return o
		},
		"with a schedule, clipped": func(t *testing.T, _ *nn.Model) optim.Optimizer {
			return with(t, optimizer(t, "adamw"), optim.Settings{
				Schedule: &optim.CosineDecay{InitialRate: 0.1, DecaySteps: 10}, Clip: optim.Clip{Norm: 0.01},
			})
		},
	}
	for _, name := range optimizers {
		all[name] = func(t *testing.T, _ *nn.Model) optim.Optimizer { return optimizer(t, name) }
	}
	for name, of := range all {
		m := build(t, trained["batch normalization, then dropout"], nn.SoftmaxCrossEntropy{}, 5)
		p, o := program(t, m, 4), of(t, m)
		step := func() {
			if _, err := p.Step(nn.Batch{Rows: 3, Inputs: inputs, Targets: targets}, o); err != nil {
				t.Fatal(err)
			}
		}
		step()
		if n := testing.AllocsPerRun(20, step); n != 0 {
			t.Errorf("%s: %v allocations in a step", name, n)
		}
	}
}

// A param without a gradient, such as a moving average, lies between those that weights consist of.
func TestTrainableAreTheParamsOfTheWeights(t *testing.T) {
	t.Parallel()
	m := build(t, trained["batch normalization"], nn.SoftmaxCrossEntropy{}, 5)
	at := 0
	for _, p := range m.Trainable() {
		for _, q := range m.Graph.Params {
			if q.Name == p.Name && (len(q.Values) != p.Size || &q.Values[0] != &m.Weights()[at]) {
				t.Errorf("param %q is not the %d weights from %d", p.Name, p.Size, at)
			}
		}
		at += p.Size
	}
	if at != len(m.Weights()) || len(m.Trainable()) == len(m.Graph.Params) {
		t.Errorf("%d params of %d have %d numbers of %d", len(m.Trainable()), len(m.Graph.Params), at, len(m.Weights()))
	}
}
