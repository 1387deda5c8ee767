package optim_test

import (
	"math"
	"testing"

	"github.com/stoker-ml/stoker/compute/nn/optim"
)

func with(t *testing.T, o optim.Optimizer, s optim.Settings) optim.Optimizer {
	t.Helper()
	o, err := optim.WithSettings(o, s)
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
		clip        optim.Clip
		grads, want []float32
	}{
		"value":                       {optim.Clip{Value: 3.5}, []float32{3, -4}, []float32{-3, 3.5}},
		"norm":                        {optim.Clip{Norm: 1}, []float32{3, -4}, []float32{-0.6, 0.8}},
		"global norm":                 {optim.Clip{Global: 10}, []float32{3, -4}, []float32{-3, 4}},
		"zeros":                       {optim.Clip{Norm: 1}, []float32{0, 0}, []float32{0, 0}},
		"infinite, by value":          {optim.Clip{Value: 1}, []float32{inf, 0}, []float32{-1, 0}},
		"infinite, as in Keras: lost": {optim.Clip{Global: 1}, []float32{inf, 0}, []float32{float32(math.NaN()), float32(math.NaN())}},
	} {
		o := with(t, optim.NewSingle(&optim.SGD{LearningRate: 1}), optim.Settings{Clip: c.clip})
		weights := make([]float32, 2)
		o.Step(weights, c.grads)
		for i, w := range weights {
			// A rounding or two.
			if d := float64(w - c.want[i]); !(math.Abs(d) <= 1e-6) && !(w != w && c.want[i] != c.want[i]) {
				t.Errorf("%s: weights %v, expected %v", name, weights, c.want)
			}
		}
	}
}

func TestPartsAreClippedTogether(t *testing.T) {
	t.Parallel()
	o := with(t, parts(t, "sgd", "sgd"), optim.Settings{Clip: optim.Clip{Global: 1}})
	weights, grads := make([]float32, size), make([]float32, size)
	grads[0], grads[len(grads)-1] = 3, 4 // of one part, and of the other
	o.Step(weights, grads)
	if w, v := weights[0], weights[len(weights)-1]; math.Abs(float64(w)+0.06) > 1e-7 || math.Abs(float64(v)+0.08) > 1e-7 {
		t.Errorf("weights %v and %v, expected -0.06 and -0.08: the rate is 0.1", w, v)
	}
}

// foreign is an optimizer that this package did not make.
type foreign struct{ optim.Optimizer }

func TestSettingsAreRefused(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		o optim.Optimizer
		s optim.Settings
	}{
		"clip -1: expected a number above 0": {optim.NewSingle(&optim.SGD{}), optim.Settings{Clip: optim.Clip{Value: -1}}},
		"clip by value, by norm and by global norm: expected at most one of them": {
			optim.NewSingle(&optim.SGD{}), optim.Settings{Clip: optim.Clip{Value: 1, Norm: 1}}},
		`optimizer "sgd" is none that optim.New knows`: {foreign{optim.NewSingle(&optim.SGD{})}, optim.Settings{}},
	} {
		if _, err := optim.WithSettings(c.o, c.s); err == nil || err.Error() != want {
			t.Errorf("error is %v, expected %s", err, want)
		}
	}
}

func TestPartsRefuseWhatTheyCannotKeepApart(t *testing.T) {
	t.Parallel()
	sgd := named(t, "sgd")
	for want, parts := range map[string][]optim.Part{
		`part "": its optimizer is another part's too`: {{"hidden/", sgd}, {"", sgd}},
		`part "": gradients are clipped for all parts at once, by WithSettings of the Parts`: {
			{"", with(t, named(t, "sgd"), optim.Settings{Clip: optim.Clip{Norm: 1}})}},
	} {
		if _, err := optim.NewParts(twoLayers, parts...); err == nil || err.Error() != want {
			t.Errorf("error is %v, expected %s", err, want)
		}
	}
}

// Keras counts the steps of a schedule from 0: the boundary is still of the value before it.
func TestAScheduleDecidesTheRateOfEachStep(t *testing.T) {
	t.Parallel()
	o := with(t, optim.NewSingle(&optim.SGD{LearningRate: 100}), optim.Settings{Schedule: &optim.PiecewiseConstantDecay{Boundaries: []int64{1}, Values: []float64{1, 0.25}}})
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
	goesOn(t, func() optim.Optimizer {
		return with(t, named(t, "momentum"), optim.Settings{Schedule: &optim.ExponentialDecay{InitialRate: 0.1, DecaySteps: 5, DecayRate: 0.5}})
	})
}

func TestARestoredOptimizerGoesOnAsIfNothingHadHappened(t *testing.T) {
	t.Parallel()
	for _, name := range names {
		goesOn(t, func() optim.Optimizer { return named(t, name) })
		if err := named(t, name).Restore(optim.State{Name: "other"}); err == nil {
			t.Errorf("%s took another's state", name)
		}
	}
}
