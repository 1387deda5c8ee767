package nn_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/nn"
)

func TestAStepOfAnyOptimizerAllocatesNothing(t *testing.T) {
	all := map[string]func(t *testing.T, m *nn.Model) nn.Optimizer{
		"parts": func(t *testing.T, m *nn.Model) nn.Optimizer {
			o, err := nn.NewParts(m, nn.Part{Prefix: "hidden/", Optimizer: optimizer(t, "ftrl")}, nn.Part{Optimizer: optimizer(t, "adam")})
			if err != nil {
				t.Fatal(err)
			}
			return o
		},
		"with a schedule, clipped": func(t *testing.T, _ *nn.Model) nn.Optimizer {
			return with(t, optimizer(t, "adamw"), nn.Settings{
				Schedule: &nn.CosineDecay{InitialRate: 0.1, DecaySteps: 10}, Clip: nn.Clip{Norm: 0.01},
			})
		},
	}
	for _, name := range optimizers {
		all[name] = func(t *testing.T, _ *nn.Model) nn.Optimizer { return optimizer(t, name) }
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

func with(t *testing.T, o nn.Optimizer, s nn.Settings) nn.Optimizer {
	t.Helper()
	o, err := nn.WithSettings(o, s)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// By hand: gradients 3 and 4 have the norm 5.
func TestAStepClipsGradients(t *testing.T) {
	t.Parallel()
	inf := float32(math.Inf(1))
	for name, c := range map[string]struct {
		clip        nn.Clip
		grads, want []float32
	}{
		"value":                       {nn.Clip{Value: 3.5}, []float32{3, -4}, []float32{-3, 3.5}},
		"norm":                        {nn.Clip{Norm: 1}, []float32{3, -4}, []float32{-0.6, 0.8}},
		"global norm":                 {nn.Clip{Global: 10}, []float32{3, -4}, []float32{-3, 4}},
		"zeros":                       {nn.Clip{Norm: 1}, []float32{0, 0}, []float32{0, 0}},
		"infinite, by value":          {nn.Clip{Value: 1}, []float32{inf, 0}, []float32{-1, 0}},
		"infinite, as in Keras: lost": {nn.Clip{Global: 1}, []float32{inf, 0}, []float32{float32(math.NaN()), float32(math.NaN())}},
	} {
		o := with(t, &nn.SGD{LearningRate: 1}, nn.Settings{Clip: c.clip})
		weights := make([]float32, 2)
		o.Step(weights, c.grads)
		for i, w := range weights {
			if d := float64(w - c.want[i]); !(math.Abs(d) <= 1e-6) && !(w != w && c.want[i] != c.want[i]) { // a rounding or two
				t.Errorf("%s: weights %v, expected %v", name, weights, c.want)
			}
		}
	}
}

func TestPartsAreClippedTogether(t *testing.T) {
	t.Parallel()
	m := twoLayers(t)
	o := with(t, parts(t, m, "sgd", "sgd"), nn.Settings{Clip: nn.Clip{Global: 1}})
	weights, grads := make([]float32, len(m.Weights())), make([]float32, len(m.Weights()))
	grads[0], grads[len(grads)-1] = 3, 4 // of one part, and of the other
	o.Step(weights, grads)
	if w, v := weights[0], weights[len(weights)-1]; math.Abs(float64(w)+0.06) > 1e-7 || math.Abs(float64(v)+0.08) > 1e-7 {
		t.Errorf("weights %v and %v, expected -0.06 and -0.08: the rate is 0.1", w, v)
	}
}

func TestSettingsAreRefused(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		o nn.Optimizer
		s nn.Settings
	}{
		"clip -1: expected a number above 0": {&nn.SGD{}, nn.Settings{Clip: nn.Clip{Value: -1}}},
		"clip by value, by norm and by global norm: expected at most one of them": {
			&nn.SGD{}, nn.Settings{Clip: nn.Clip{Value: 1, Norm: 1}}},
		`optimizer "sgd" is none that NewOptimizer knows`: {foreign{&nn.SGD{}}, nn.Settings{}},
	} {
		if _, err := nn.WithSettings(c.o, c.s); err == nil || err.Error() != want {
			t.Errorf("error is %v, expected %s", err, want)
		}
	}
}

func TestPartsRefuseWhatTheyCannotKeepApart(t *testing.T) {
	t.Parallel()
	m, sgd := twoLayers(t), optimizer(t, "sgd")
	for want, parts := range map[string][]nn.Part{
		`part "": its optimizer is another part's too`: {{"hidden/", sgd}, {"", sgd}},
		`part "": gradients are clipped for all parts at once, by WithSettings of the Parts`: {
			{"", with(t, optimizer(t, "sgd"), nn.Settings{Clip: nn.Clip{Norm: 1}})}},
	} {
		if _, err := nn.NewParts(m, parts...); err == nil || err.Error() != want {
			t.Errorf("error is %v, expected %s", err, want)
		}
	}
}

// Keras counts the steps of a schedule from 0: the boundary is still of the value before it.
func TestAScheduleDecidesTheRateOfEachStep(t *testing.T) {
	t.Parallel()
	o := with(t, &nn.SGD{LearningRate: 100}, nn.Settings{Schedule: &nn.PiecewiseConstantDecay{Boundaries: []int64{1}, Values: []float64{1, 0.25}}})
	weights := []float32{0}
	for i, want := range []float32{-1, -2, -2.25} {
		o.Step(weights, []float32{1})
		if weights[0] != want {
			t.Errorf("weight after step %d is %v, expected %v", i, weights[0], want)
		}
	}
}

// A schedule is no state: it goes on by the number of steps.
func TestAScheduleGoesOnFromACheckpoint(t *testing.T) {
	t.Parallel()
	fresh := func() nn.Optimizer {
		return with(t, optimizer(t, "momentum"), nn.Settings{Schedule: &nn.ExponentialDecay{InitialRate: 0.1, DecaySteps: 5, DecayRate: 0.5}})
	}
	layers := nets["tanh"]
	want := train(t, build(t, layers, nn.SigmoidCrossEntropy{}, 5), fresh(), 20)
	m, o, next := build(t, layers, nn.SigmoidCrossEntropy{}, 5), fresh(), fresh()
	train(t, m, o, 9)
	if err := next.Restore(o.State()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, train(t, m, next, 11)); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
}
