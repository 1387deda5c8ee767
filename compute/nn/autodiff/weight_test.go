package autodiff_test

import (
	"math"
	"testing"

	"github.com/stoker-ml/stoker/compute/nn"
)

func TestTheReductionOfABatchIsAsSaid(t *testing.T) {
	t.Parallel()
	b := nn.Batch{Rows: 3, Inputs: inputs, Targets: targets, Weights: []float32{1, 2, 0.5}}
	classes := []float32{3, 1, 0} // classes of the targets: 1, 0, 2
	for name, c := range map[string]struct {
		classes   []float32
		reduction nn.Reduction
		weights   []float64
		over      float64
	}{
		"mean":                     {nil, nn.WeightedMean, []float64{1, 2, 0.5}, 3.5},
		"over the batch":           {nil, nn.SumOverBatchSize, []float64{1, 2, 0.5}, 3},
		"mean with classes":        {classes, nn.WeightedMean, []float64{1, 6, 0}, 7},
		"over the batch and class": {classes, nn.SumOverBatchSize, []float64{1, 6, 0}, 3},
	} {
		m := build(t, nets["dense"], nn.SoftmaxCrossEntropy{}, 1)
		m.ClassWeights, m.Reduction = c.classes, c.reduction
		got, _, err := program(t, m, 4).Gradients(b)
		if err != nil {
			t.Fatal(err)
		}
		out, err := nn.Eval(m.Graph, b.Inputs)
		if err != nil {
			t.Fatal(err)
		}
		want := 0.0
		for r, w := range c.weights {
			want += w * m.Loss.Row(out["logits"].Floats[3*r:3*r+3], targets[3*r:3*r+3]) / c.over
		}
		if math.Abs(float64(got)-want) > 1e-6*want {
			t.Errorf("%s: loss %v, expected %v", name, got, want)
		}
	}
}

func TestAClassOfOneNumberIsYesOrNo(t *testing.T) {
	t.Parallel()
	m := build(t, func(b *nn.Builder) nn.Ref { return b.Dense("out", x(b), 1, "") }, nn.SigmoidCrossEntropy{}, 1)
	m.ClassWeights, m.Reduction = []float32{0, 5}, nn.SumOverBatchSize
	clear(m.Weights())
	got, _, err := program(t, m, 3).Gradients(nn.Batch{Rows: 3, Inputs: inputs, Targets: []float32{0, 1, 0}})
	// One row counts, and a logit of 0 costs log 2.
	if want := 5 * math.Ln2 / 3; err != nil || math.Abs(float64(got)-want) > 1e-6 {
		t.Errorf("loss %v, %v, expected %v", got, err, want)
	}
}

func TestWeightsThatDoNotFitAreRefused(t *testing.T) {
	t.Parallel()
	m := build(t, nets["dense"], nn.SoftmaxCrossEntropy{}, 1)
	p := program(t, m, 3)
	b := nn.Batch{Rows: 3, Inputs: inputs, Targets: targets}
	m.ClassWeights = []float32{1, 2}
	if _, _, err := p.Gradients(b); err == nil || err.Error() != "2 class weights for 3 classes" {
		t.Errorf("error is %v", err)
	}
	m.ClassWeights = []float32{0, 0, 0}
	if _, _, err := p.Gradients(b); err == nil {
		t.Error("a batch that weighs nothing has a mean")
	}
	m.Reduction = nn.SumOverBatchSize
	if loss, _, err := p.Gradients(b); err != nil || loss != 0 {
		t.Errorf("a batch that weighs nothing has the loss %v, %v, expected 0", loss, err)
	}
}
