package train_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/optim"
	"github.com/stoker-ml/stoker/compute/train"
)

// diverging returns options with which every step makes weights infinite.
func diverging(t *testing.T, steps int) train.Options {
	t.Helper()
	o := options(steps)
	var err error
	if o.Optimizer, err = optim.New("sgd", 1e6); err != nil {
		t.Fatal(err)
	}
	return o
}

// rows is a source that is read once.
type rows struct{ x, targets []float32 }

func (r *rows) Next(context.Context) (nn.Batch, error) {
	if r.x == nil {
		return nn.Batch{}, io.EOF
	}
	b := nn.Batch{Rows: len(r.x) / 2, Inputs: map[string]nn.Value{"x": nn.Floats(2, r.x...)}, Targets: r.targets}
	r.x = nil
	return b, nil
}

// steep returns rows whose loss is finite, and whose gradient times the learning rate is not.
func steep() *rows { return &rows{[]float32{1e15, 1e15}, []float32{1e19}} }

// linear returns a model in which nothing keeps numbers small.
func linear(t *testing.T) *nn.Model {
	t.Helper()
	return build(t, nn.MeanSquaredError{}, func(b *nn.Builder) nn.Ref {
		return b.Dense("logits", b.Input("x", nn.Float32, 2), 1, "")
	})
}

// The loss of the last step is the one before its update: no later loss reveals what happened to
// the weights.
func TestAModelThatTheLastStepSpoiltIsNone(t *testing.T) {
	t.Parallel()
	_, err := train.Run(t.Context(), diverging(t, 1), linear(t), steep(), nil)
	if !errors.Is(err, train.ErrNotFinite) || !strings.Contains(err.Error(), "step 1") {
		t.Errorf("error is %v", err)
	}
}

func TestASpoiltModelIsNoCheckpoint(t *testing.T) {
	t.Parallel()
	o := diverging(t, 5)
	o.Checkpoints = train.Checkpoints{Dir: t.TempDir(), Every: 1, Keep: 2}
	var saved []int
	o.Checkpointed = func(step int) { saved = append(saved, step) }
	_, err := train.Run(t.Context(), o, linear(t), steep(), nil)
	if !errors.Is(err, train.ErrNotFinite) || saved != nil {
		t.Errorf("checkpoints %v, error %v", saved, err)
	}
}

func TestAnEvaluationWithoutAFiniteLossIsAnError(t *testing.T) {
	t.Parallel()
	data, eval := &rows{[]float32{1, 1, 1, 2, 2, 1, 2, 2}, []float32{1, 1, 1, 1}}, &rows{[]float32{3e38, 3e38}, []float32{1}}
	_, err := train.Run(t.Context(), options(1), linear(t), data, eval)
	if !errors.Is(err, train.ErrNotFinite) || !strings.Contains(err.Error(), "evaluate") {
		t.Errorf("error is %v", err)
	}
}
