package autodiff_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/autodiff"
	"github.com/stoker-ml/stoker/compute/nn/optim"
)

// train takes steps with a new program and returns the weights.
func train(t *testing.T, m *nn.Model, o optim.Optimizer, steps int) []float32 {
	t.Helper()
	p := program(t, m, 3)
	for range steps {
		_, grads, err := p.Gradients(nn.Batch{Rows: 3, Inputs: inputs, Targets: targets})
		if err != nil {
			t.Fatal(err)
		}
		o.Step(m.Weights(), grads)
	}
	return append([]float32(nil), m.Weights()...)
}

func TestTheSameSeedGivesTheSameWeights(t *testing.T) {
	t.Parallel()
	for layers := range nets {
		run := func(seed int64) []float32 {
			return train(t, build(t, nets[layers], nn.SoftmaxCrossEntropy{}, seed), optimizer(t, "adam"), 20)
		}
		first := run(1)
		if diff := cmp.Diff(first, run(1)); diff != "" {
			t.Errorf("%s: seed 1 twice: %s", layers, diff)
		}
		if cmp.Equal(first, run(2)) {
			t.Errorf("%s: seeds 1 and 2 gave the same weights", layers)
		}
	}
}

func TestAShortBatchCountsOnlyItsRows(t *testing.T) {
	t.Parallel()
	m := build(t, nets["embedding with numbers"], nn.MeanSquaredError{}, 5)
	p := program(t, m, 3)
	full := nn.Batch{Rows: 3, Inputs: inputs, Targets: targets}
	if _, _, err := p.Gradients(full); err != nil {
		t.Fatal(err)
	}
	short := nn.Batch{Rows: 1, Targets: targets[:3], Inputs: map[string]nn.Value{
		"x": nn.Floats(2, inputs["x"].Floats[:2]...), "id": nn.Ints(2, inputs["id"].Ints[:2]...),
	}}
	got, grads, err := p.Gradients(short)
	if err != nil {
		t.Fatal(err)
	}
	if want := lossOf(t, m, short); math.Abs(float64(got)-want) > 1e-6*want {
		t.Errorf("loss is %v, expected %v", got, want)
	}
	checkSlopes(t, m, short, grads)
}

func TestAParamTheLossDoesNotNeedStaysAsItIs(t *testing.T) {
	t.Parallel()
	b := nn.NewBuilder(nn.NewRand(1))
	in := b.Input("x", nn.Float32, 2)
	b.Output("side", b.Dense("side", in, 1, ""))
	logits := b.Dense("main", in, 3, "")
	b.Output("logits", logits)
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	m, err := nn.NewModel(g, logits.Name, nn.MeanSquaredError{})
	if err != nil {
		t.Fatal(err)
	}
	before := append([]float32(nil), m.Weights()...)
	after := train(t, m, optimizer(t, "sgd"), 3)
	if diff := cmp.Diff(before[:3], after[:3]); diff != "" {
		t.Errorf("side: %s", diff)
	}
	if cmp.Equal(before[3:], after[3:]) {
		t.Error("main did not learn")
	}
	if diff := cmp.Diff(g.Params[2].Values, after[3:9]); diff != "" {
		t.Errorf("the graph's param is no view of the weights: %s", diff)
	}
}

func TestALossOverNoTrainableParamIsRefused(t *testing.T) {
	t.Parallel()
	m := build(t, x, nn.MeanSquaredError{}, 1)
	if _, err := autodiff.NewProgram(m, 1); err == nil {
		t.Error("no error")
	}
}

// ungraded is a loss without a gradient in this package.
type ungraded struct{ nn.MeanSquaredError }

func (ungraded) Name() string { return "ungraded" }

func TestALossWithoutAGradientIsRefused(t *testing.T) {
	t.Parallel()
	m := build(t, nets["dense"], ungraded{}, 1)
	if _, err := autodiff.NewProgram(m, 1); err == nil || !strings.HasSuffix(err.Error(), `loss "ungraded" has no gradient`) {
		t.Errorf("error is %v", err)
	}
}

func ExampleProgram() {
	b := nn.NewBuilder(nn.NewRand(1))
	logits := b.Dense("logits", b.Input("x", nn.Float32, 1), 1, "")
	b.Output("y", logits)
	g, err := b.Graph()
	if err != nil {
		panic(err)
	}
	m, err := nn.NewModel(g, logits.Name, nn.MeanSquaredError{})
	if err != nil {
		panic(err)
	}
	p, err := autodiff.NewProgram(m, 4)
	if err != nil {
		panic(err)
	}
	defer p.Close()
	adam, err := optim.New("adam", 0.1)
	if err != nil {
		panic(err)
	}
	// y = 2x + 1
	batch := nn.Batch{Rows: 4, Inputs: map[string]nn.Value{"x": nn.Floats(1, 0, 1, 2, 3)}, Targets: []float32{1, 3, 5, 7}}
	for range 1000 {
		_, grads, err := p.Gradients(batch)
		if err != nil {
			panic(err)
		}
		adam.Step(m.Weights(), grads)
	}
	fmt.Printf("%.2f\n", m.Weights())
	// Output: [2.00 1.00]
}
