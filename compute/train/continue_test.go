package train_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/train"
)

func TestATrainingEndsWhenItIsNotToContinue(t *testing.T) {
	t.Parallel()
	o := options(100)
	o.Continue = func(_ context.Context, step int) (bool, error) { return step < 7, nil }
	result, err := train.Run(t.Context(), o, model(t, nn.SoftmaxCrossEntropy{}, 3), endless(), &spiral{batches: 5, rows: 7, next: 1})
	if err != nil || result.Steps != 7 || result.Metrics["loss"] == 0 {
		t.Errorf("result is %+v, %v", result, err)
	}
	wrong := errors.New("no space for the metrics")
	o.Continue = func(context.Context, int) (bool, error) { return true, wrong }
	if _, err := train.Run(t.Context(), o, model(t, nn.SoftmaxCrossEntropy{}, 3), endless(), nil); !errors.Is(err, wrong) ||
		!strings.Contains(err.Error(), "after step 1:") {
		t.Errorf("error is %v", err)
	}
}

// A checkpoint of the last step has everything from which a longer training continues: 2 x 10 steps
// equal 20, to the bit.
func TestALongerTrainingGoesOnFromTheLastStepOfAShorterOne(t *testing.T) {
	t.Parallel()
	whole := model(t, nn.SoftmaxCrossEntropy{}, 3)
	if _, err := train.Run(t.Context(), options(20), whole, endless(), nil); err != nil {
		t.Fatal(err)
	}
	dir, longer := t.TempDir(), model(t, nn.SoftmaxCrossEntropy{}, 3)
	for _, steps := range []int{10, 20} {
		o := options(steps)
		o.Checkpoints = train.Checkpoints{Dir: dir, Last: true}
		longer = model(t, nn.SoftmaxCrossEntropy{}, 3)
		result, err := train.Run(t.Context(), o, longer, endless(), nil)
		if err != nil || result.Resumed != steps-10 {
			t.Fatalf("result is %+v, %v", result, err)
		}
	}
	if diff := cmp.Diff(whole.Weights(), longer.Weights()); diff != "" {
		t.Errorf("weights of one training - and of two +\n%s", diff)
	}
}
