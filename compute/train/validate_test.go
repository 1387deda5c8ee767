package train_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/plan"
	"github.com/stoker-ml/stoker/compute/train"
)

// The training is interrupted in its third validation, which is repeated when it resumes: from a
// checkpoint that was written because of the interruption.
func TestATrainingIsValidatedAtItsSteps(t *testing.T) {
	t.Parallel()
	o, preempted := options(20), errors.New("preempted")
	o.Checkpoints = train.Checkpoints{Dir: t.TempDir(), Every: 5}
	o.ValidateAt = func(step int) bool { return step%3 == 0 && step < 20 }
	ctx, cancel := context.WithCancelCause(t.Context())
	var seen []int
	interrupted := false
	o.Validate = func(ctx context.Context, step int) error {
		if step == 9 && !interrupted {
			interrupted = true
			cancel(preempted)
			return context.Cause(ctx)
		}
		seen = append(seen, step)
		return nil
	}
	if _, err := train.Run(ctx, o, model(t, nn.SoftmaxCrossEntropy{}, 3), endless(), nil); !errors.Is(err, preempted) {
		t.Fatal(err)
	}
	if result, err := train.Run(t.Context(), o, model(t, nn.SoftmaxCrossEntropy{}, 3), endless(), nil); err != nil || result.Resumed != 9 {
		t.Fatal(result, err)
	}
	if diff := cmp.Diff([]int{3, 6, 9, 12, 15, 18}, seen); diff != "" {
		t.Errorf("steps: want - got +\n%s", diff)
	}
}

// device is a machine that counts how often it copied its weights.
type device struct {
	plan.Machine
	synced *int
}

func (d device) Sync() error { *d.synced++; return d.Machine.Sync() }

func TestAModelHasItsWeightsWhenItIsValidated(t *testing.T) {
	t.Parallel()
	o, synced, validated := options(20), 0, 0
	o.Machines = func(p *plan.Plan) (plan.Machine, error) { return device{plan.NewMachine(p, nil), &synced}, nil }
	o.ValidateAt = func(step int) bool { return step%5 == 0 }
	o.Validate = func(context.Context, int) error {
		if validated++; synced != validated {
			t.Errorf("validation %d, after %d copies of the weights", validated, synced)
		}
		return nil
	}
	if _, err := train.Run(t.Context(), o, model(t, nn.SoftmaxCrossEntropy{}, 3), endless(), nil); err != nil || validated != 4 {
		t.Error(validated, err)
	}
}
