//go:build estimator

package estimator

import (
	"context"
	_ "embed"
	"math"
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/optim"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/compute/train"
)

//go:embed testdata/dropout.py
var dropoutScript string

// Dropout is random, so the distributions are compared: over the same rows repeatedly, with weights
// that a step hardly changes, the losses have the same mean here and in TensorFlow. Without dropout
// in one of the layers, that mean would differ.
func TestDropoutIsThatOfAnEstimator(t *testing.T) {
	t.Parallel()
	const steps, rate = 3000, 0.4
	in := taxiInput(t, "train")
	hidden := []int{24, 16}
	still := func() optim.Optimizer { return optim.NewSingle(&optim.SGD{LearningRate: 1e-12}) }
	losses := func(rate float64) (losses []float64, start map[string]weights) {
		e := DNNClassifier{HiddenUnits: hidden, Optimizer: still(), Dropout: rate}
		for _, key := range taxiNumbers {
			e.FeatureColumns = append(e.FeatureColumns, Numeric{key})
		}
		p, err := e.plan()
		if err != nil {
			t.Fatal(err)
		}
		n, err := p.build(in.Features, 7)
		if err != nil {
			t.Fatal(err)
		}
		start = map[string]weights{}
		for _, w := range n.Graph.Params {
			if !w.Trainable {
				continue
			}
			for i := range w.Values { // far from 0, so that dropout has a visible effect
				w.Values[i] = float32((i*7)%11-4) / 8
			}
			start[w.Name] = weights{w.Shape, slices.Clone(w.Values)}
		}
		o := train.Options{Steps: steps, BatchSize: in.BatchSize, Optimizer: n.optimizer}
		o.Stepped = func(_ int, loss float32) { losses = append(losses, float64(loss)) }
		if _, err := train.Run(t.Context(), o, n.Model, &again{Source: reading(t, in.training(0, nil), in, n, p)}, nil); err != nil {
			t.Fatal(err)
		}
		return losses, start
	}
	ours, start := losses(rate)
	none, _ := losses(0)
	var want struct{ Losses []float64 }
	tftest.RunEstimator(t, dropoutScript, map[string]any{
		"dir": t.TempDir(), "weights": start, "numeric": taxiNumbers, "label": in.Label, "batch": in.BatchSize, "hidden": hidden, "steps": steps,
		"rate": rate, "train": in.Files[0],
	}, &want)

	mean, deviation := spread(ours)
	theirs, theirDeviation := spread(want.Losses)
	without, _ := spread(none)
	of := deviation * math.Sqrt(2.0/steps) // the deviation of a difference of means
	t.Logf("losses %.5f +- %.5f, TensorFlow's %.5f +- %.5f, without dropout %.5f; differences of means +- %.5f", mean, deviation, theirs, theirDeviation, without, of)
	if len(want.Losses) != steps || math.Abs(mean-theirs) > 4*of || math.Abs(without-theirs) < 20*of {
		t.Errorf("of %d losses the mean is %v, TensorFlow's %v", len(want.Losses), mean, theirs)
	}
	// Of 3000 normal draws: +- 0.018; these have a longer tail.
	if ratio := deviation / theirDeviation; ratio < 0.93 || ratio > 1.07 {
		t.Errorf("losses deviate by %v, TensorFlow's by %v", deviation, theirDeviation)
	}
}

// again repeats the first batch of a source.
type again struct {
	train.Source
	first *nn.Batch
}

func (a *again) Next(ctx context.Context) (nn.Batch, error) {
	if a.first == nil {
		b, err := a.Source.Next(ctx)
		if err != nil {
			return b, err
		}
		a.first = &b
	}
	return *a.first, nil
}

func spread(x []float64) (mean, deviation float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		deviation += (v - mean) * (v - mean) / float64(len(x))
	}
	return mean, math.Sqrt(deviation)
}
