package nn_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/nn"
)

// twoLayers has the params hidden/kernel [2,4], hidden/bias [4], out/kernel [4,3], out/bias [3].
func twoLayers(t *testing.T) *nn.Model {
	return build(t, func(b *nn.Builder) nn.Ref { return b.Dense("out", b.Dense("hidden", x(b), 4, nn.OpTanh), 3, "") },
		nn.SoftmaxCrossEntropy{}, 4)
}

func parts(t *testing.T, m *nn.Model, names ...string) *nn.Parts {
	t.Helper()
	hidden, rest := nn.Part{Prefix: "hidden/", Optimizer: optimizer(t, names[0])}, nn.Part{Optimizer: optimizer(t, names[1])}
	o, err := nn.NewParts(m, hidden, rest)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestEachPartIsTrainedByItsOwnOptimizer(t *testing.T) {
	t.Parallel()
	const hidden = 2*4 + 4
	got := train(t, twoLayers(t), parts(t, twoLayers(t), "adagrad", "ftrl"), 10)

	m := twoLayers(t)
	p, first, second := program(t, m, 3), optimizer(t, "adagrad"), optimizer(t, "ftrl")
	for range 10 {
		_, grads, err := p.Gradients(nn.Batch{Rows: 3, Inputs: inputs, Targets: targets})
		if err != nil {
			t.Fatal(err)
		}
		first.Step(m.Weights()[:hidden], grads[:hidden])
		second.Step(m.Weights()[hidden:], grads[hidden:])
	}
	if diff := cmp.Diff(m.Weights(), got); diff != "" {
		t.Error(diff)
	}
}

// Parts with more slots than others, and with none, come back as they were.
func TestPartsGoOnFromTheirState(t *testing.T) {
	t.Parallel()
	for _, names := range [][]string{{"adagrad", "ftrl"}, {"ftrl", "sgd"}, {"momentum", "adam"}, {"sgd", "sgd"}} {
		m, o := twoLayers(t), parts(t, twoLayers(t), names...)
		train(t, m, o, 5)
		again := twoLayers(t)
		copy(again.Weights(), m.Weights())
		resumed := parts(t, again, names...)
		if err := resumed.Restore(o.State()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(train(t, m, o, 5), train(t, again, resumed, 5)); diff != "" {
			t.Errorf("%v: %s", names, diff)
		}
	}
}

func TestPartsSayWhichParamIsNobodys(t *testing.T) {
	t.Parallel()
	m, sgd := twoLayers(t), optimizer(t, "sgd")
	for want, parts := range map[string][]nn.Part{
		`param "out/kernel" belongs to no part`: {{"hidden/", sgd}},
		`no param is left for the part "hidden/"`: {
			{"", sgd}, {"hidden/kernel", sgd}, {"hidden/bias", sgd}, {"hidden/", sgd},
		},
		`no param is left for the part "deep/"`:                                      {{"", sgd}, {"deep/", sgd}},
		`part "": optimizer "parts(: sgd)" is none that NewOptimizer knows`:          {{"", whole(t, m)}},
		`state is of optimizer "sgd", expected "parts(: sgd)"`:                       nil,
		`state of optimizer "parts(: momentum)" has a slot of 2 values, expected 27`: nil,
	} {
		_, err := nn.NewParts(m, parts...)
		switch {
		case strings.HasPrefix(want, "state is"):
			err = whole(t, m).Restore(nn.OptimizerState{Name: "sgd"})
		case strings.HasPrefix(want, "state of"):
			o, _ := nn.NewParts(m, nn.Part{Optimizer: optimizer(t, "momentum")})
			err = o.Restore(nn.OptimizerState{Name: o.Name(), Slots: [][]float32{{1, 2}}})
		}
		if err == nil || err.Error() != want {
			t.Errorf("error is %v, expected %s", err, want)
		}
	}
}

func whole(t *testing.T, m *nn.Model) *nn.Parts {
	t.Helper()
	o, err := nn.NewParts(m, nn.Part{Optimizer: optimizer(t, "sgd")})
	if err != nil {
		t.Fatal(err)
	}
	return o
}
