package train_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/train"
)

// restless has everything besides weights that changes in training: moving averages, and randomness
// that depends on the step.
func restless(t *testing.T) *nn.Model {
	t.Helper()
	return build(t, nn.SoftmaxCrossEntropy{}, func(b *nn.Builder) nn.Ref {
		h := b.BatchNormalization("norm", b.Dense("hidden", b.Input("x", nn.Float32, 2), 8, nn.OpTanh), nn.BatchNorm{Momentum: 0.9})
		return b.Dense("logits", b.Dropout("drop", h, 0.3), 3, "")
	})
}

func TestMovingAveragesAndDropoutGoOnFromACheckpoint(t *testing.T) {
	t.Parallel()
	whole := restless(t)
	if _, err := train.Run(t.Context(), options(40), whole, endless(), nil); err != nil {
		t.Fatal(err)
	}
	dir, preempted := t.TempDir(), errors.New("preempted")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	o, s := options(40), endless()
	o.Checkpoints = train.Checkpoints{Dir: dir}
	s.before = func(batch int) {
		if batch == 17 {
			cancel(preempted)
		}
	}
	if _, err := train.Run(ctx, o, restless(t), s, nil); !errors.Is(err, preempted) {
		t.Fatal(err)
	}
	m := restless(t)
	o = options(40)
	o.Checkpoints = train.Checkpoints{Dir: dir}
	if result, err := train.Run(t.Context(), o, m, endless(), nil); err != nil || result.Resumed != 17 {
		t.Fatal(result, err)
	}
	if diff := cmp.Diff(whole.Weights(), m.Weights()); diff != "" {
		t.Errorf("weights: whole - resumed +\n%s", diff)
	}
	if diff := cmp.Diff(whole.Moving(), m.Moving()); diff != "" {
		t.Errorf("moving averages: whole - resumed +\n%s", diff)
	}
}
