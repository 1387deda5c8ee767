package autodiff_test

import (
	_ "embed"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/optim"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

//go:embed testdata/keras.py
var kerasScript string

// words are Keras's arguments.
type words map[string]any

// kerasCase asks Keras for a training by train_on_batch from given weights, always the same batch.
type kerasCase struct {
	Layers    []words     `json:"layers"`
	Loss      words       `json:"loss"`
	Optimizer words       `json:"optimizer"`
	Steps     int         `json:"steps"`
	X         []float32   `json:"x"` // [3,2]
	Y         []float32   `json:"y"` // [3,3]
	Sample    []float32   `json:"sample"`
	Classes   []float32   `json:"classes"`
	Weights   [][]float32 `json:"weights"`
	Shapes    [][]int     `json:"shapes"`

	net       net
	loss      nn.Loss
	optimizer optim.Optimizer
}

type kerasAnswer struct {
	Losses  []float64 `json:"losses"`  // before each step
	Weights []float32 `json:"weights"` // after the last
	Others  []float32 `json:"others"`  // moving averages
	Answers []float32 `json:"answers"` // logits of a prediction after the last step
}

// Float32 sums in another order differ in their last bits, and 100 steps amplify the difference;
// Adam's division by the square root of a small v increases it: 8e-6 was observed, 4e-5 is allowed.
const kerasTolerance = 4e-5

func dense(units int, act string, more ...words) words {
	w := words{"kind": "dense", "units": units}
	if act != "" {
		w["activation"] = act
	}
	return join(w, more...)
}

func join(w words, more ...words) words {
	for _, m := range more {
		for k, v := range m {
			w[k] = v
		}
	}
	return w
}

// plainCase is dense(4, act), dense(3), with the loss of that name and an optimizer.
func plainCase(act nn.Op, keras string, loss nn.Loss, o optim.Optimizer) *kerasCase {
	return &kerasCase{
		Layers: []words{dense(4, keras), dense(3, "")}, Loss: words{"name": loss.Name()}, Optimizer: words{"name": o.Name(), "learning_rate": 0.05},
		net: func(b *nn.Builder) nn.Ref { return b.Dense("out", b.Dense("hidden", x(b), 4, act), 3, "") }, loss: loss, optimizer: o,
	}
}

func named(name string) optim.Optimizer {
	o, err := optim.New(name, 0.05)
	if err != nil {
		panic(err)
	}
	return o
}

// set applies settings to an optimizer, and Keras's names of them to the case.
func (c *kerasCase) set(s optim.Settings, more words) *kerasCase {
	if _, err := optim.WithSettings(c.optimizer, s); err != nil {
		panic(err)
	}
	join(c.Optimizer, more)
	return c
}

func (c *kerasCase) losing(more words) *kerasCase { join(c.Loss, more); return c }

// kerasCases returns the trainings that are compared.
func kerasCases() map[string]*kerasCase {
	tanh := func(loss nn.Loss) *kerasCase { return plainCase(nn.OpTanh, "tanh", loss, named("adam")) }
	softmax, mse := nn.SoftmaxCrossEntropy{}, nn.MeanSquaredError{}
	cases := map[string]*kerasCase{
		"sigmoid":           plainCase(nn.OpSigmoid, "sigmoid", nn.SigmoidCrossEntropy{}, named("adam")),
		"squares":           plainCase(nn.OpRelu, "relu", mse, named("momentum")),
		"absolute":          plainCase(nn.OpTanh, "tanh", nn.MeanAbsoluteError{}, named("sgd")),
		"huber":             tanh(nn.Huber{Delta: 0.3}).losing(words{"delta": 0.3}),
		"softmax, smoothed": tanh(nn.SoftmaxCrossEntropy{Smoothing: 0.1}).losing(words{"label_smoothing": 0.1}),
		"sigmoid, smoothed": tanh(nn.SigmoidCrossEntropy{Smoothing: 0.2}).losing(words{"label_smoothing": 0.2}),

		"clipped by value": plainCase(nn.OpTanh, "tanh", mse, named("sgd")).set(optim.Settings{Clip: optim.Clip{Value: 0.05}}, words{"clipvalue": 0.05}),
		"clipped by norm":  plainCase(nn.OpTanh, "tanh", mse, named("sgd")).set(optim.Settings{Clip: optim.Clip{Norm: 0.05}}, words{"clipnorm": 0.05}),
		"clipped together": plainCase(nn.OpTanh, "tanh", mse, named("sgd")).set(optim.Settings{Clip: optim.Clip{Global: 0.1}}, words{"global_clipnorm": 0.1}),
		"with a schedule": tanh(softmax).set(optim.Settings{Schedule: &optim.ExponentialDecay{InitialRate: 0.05, DecaySteps: 20, DecayRate: 0.5}}, words{
			"schedule": words{"name": "ExponentialDecay", "config": words{"initial_learning_rate": 0.05, "decay_steps": 20, "decay_rate": 0.5}}}),
	}
	for _, name := range optimizers {
		cases["softmax by "+name] = plainCase(nn.OpTanh, "tanh", softmax, named(name))
	}
	cases["decay by a schedule"] = plainCase(nn.OpTanh, "tanh", softmax, optim.NewSingle(&optim.AdamW{
		Adam: optim.Adam{LearningRate: 1, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-7}, WeightDecay: 0.1,
	})).set(optim.Settings{Schedule: &optim.CosineDecay{InitialRate: 0.05, DecaySteps: 50}}, words{"weight_decay": 0.1,
		"schedule": words{"name": "CosineDecay", "config": words{"initial_learning_rate": 0.05, "decay_steps": 50}}})
	cases["rmsprop, centered, with momentum"] = plainCase(nn.OpTanh, "tanh", softmax, optim.NewSingle(&optim.RMSprop{
		LearningRate: 0.05, Rho: 0.8, Momentum: 0.5, Epsilon: 1e-3, Centered: true,
	})).set(optim.Settings{}, words{"rho": 0.8, "momentum": 0.5, "epsilon": 1e-3, "centered": true})

	weighted := tanh(softmax)
	weighted.Sample = []float32{1, 2, 0.5}
	cases["weights of rows"] = weighted
	classes := tanh(softmax)
	classes.Classes = []float32{1, 3, 0.25}
	cases["weights of classes"] = classes

	cases["penalties"] = tanh(softmax)
	cases["penalties"].Layers[0] = dense(4, "tanh", words{"l1": 0.01, "l2": 0.02})
	cases["penalties"].net = func(b *nn.Builder) nn.Ref {
		h := b.DenseWith("hidden", x(b), 4, nn.DenseOptions{Activation: nn.OpTanh, Kernel: nn.ParamOptions{Penalty: nn.Penalty{L1: 0.01, L2: 0.02}}})
		return b.Dense("out", h, 3, "")
	}
	cases["batch normalization"] = tanh(softmax)
	cases["batch normalization"].Layers = []words{dense(4, "tanh"), {"kind": "batch", "momentum": 0.9}, dense(3, "")}
	cases["batch normalization"].net = func(b *nn.Builder) nn.Ref {
		return b.Dense("out", b.BatchNormalization("norm", b.Dense("hidden", x(b), 4, nn.OpTanh), nn.BatchNorm{Momentum: 0.9}), 3, "")
	}
	cases["layer normalization"] = tanh(softmax)
	cases["layer normalization"].Layers = []words{dense(4, "tanh"), {"kind": "layer"}, dense(3, "")}
	cases["layer normalization"].net = func(b *nn.Builder) nn.Ref {
		return b.Dense("out", b.LayerNormalization("norm", b.Dense("hidden", x(b), 4, nn.OpTanh), 0.001), 3, "")
	}
	return cases
}

func TestTrainingFollowsKerasStepForStep(t *testing.T) {
	t.Parallel()
	cases := kerasCases()
	var names []string
	var asked []*kerasCase
	models := map[string]*nn.Model{}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		c := cases[name]
		m := build(t, c.net, c.loss, 11)
		m.ClassWeights, m.Reduction = c.Classes, nn.SumOverBatchSize
		models[name] = m
		c.Steps, c.X, c.Y = 100, inputs["x"].Floats, targets
		for _, p := range m.Graph.Params {
			if p.Trainable {
				c.Weights = append(c.Weights, append([]float32(nil), p.Values...))
				c.Shapes = append(c.Shapes, p.Shape)
			}
		}
		names, asked = append(names, name), append(asked, c)
	}
	var want []kerasAnswer
	tftest.Run(t, kerasScript, asked, &want)
	for i, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compare(t, models[name], cases[name], want[i])
		})
	}
}

func compare(t *testing.T, m *nn.Model, c *kerasCase, want kerasAnswer) {
	t.Helper()
	p, worst := program(t, m, 4), 0.0 // a row of padding
	for step := range c.Steps {
		loss, err := p.Step(nn.Batch{Rows: 3, Inputs: inputs, Targets: c.Y, Weights: c.Sample}, c.optimizer)
		if err != nil {
			t.Fatal(err)
		}
		worst = max(worst, math.Abs(float64(loss)-want.Losses[step]))
	}
	out, err := nn.Eval(m.Graph, inputs)
	if err != nil {
		t.Fatal(err)
	}
	worst = max(worst, farthest(t, m.Weights(), want.Weights), farthest(t, asKeras(m), want.Others))
	answers := farthest(t, out["logits"].Floats, want.Answers)
	t.Logf("largest difference from Keras: %g, of logits %g", worst, answers)
	// Logits are sums of a few weights times up to some 10.
	if !(worst <= kerasTolerance) || !(answers <= 10*kerasTolerance) {
		t.Errorf("differs from Keras by %g, logits by %g, expected at most %g and ten times that", worst, answers, kerasTolerance)
	}
}

// asKeras returns the moving averages as in Keras: mean, and variance instead of sqrt(variance +
// 0.001).
func asKeras(m *nn.Model) []float32 {
	all := append([]float32(nil), m.Moving()...)
	for i := len(all) / 2; i < len(all); i++ {
		all[i] = all[i]*all[i] - 0.001
	}
	return all
}

func farthest(t *testing.T, got, want []float32) float64 {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d numbers, Keras has %d", len(got), len(want))
	}
	worst := 0.0
	for i := range got {
		worst = max(worst, math.Abs(float64(got[i]-want[i])))
	}
	return worst
}
