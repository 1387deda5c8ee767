package train_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/compute/train"
)

// scores are four rows of three classes, the last one's label misclassified; and their classes.
var scores = []float32{2, 0, 1, 0, 3, 3, 1, 1, 1, 0, 0, 9}
var targets = []float32{1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0}

func TestTheConfusionMatrixIsTensorFlows(t *testing.T) {
	t.Parallel()
	for name, weights := range map[string][]float32{"plain": nil, "weighted": {1, 0.5, 2, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := fixed{{Rows: 4, Inputs: map[string]nn.Value{"x": nn.Floats(3, scores...)}, Targets: targets, Weights: weights}}
			got, err := train.Measure(t.Context(), identity(t, nn.SoftmaxCrossEntropy{}, 3), &source, 0)
			if err != nil {
				t.Fatal(err)
			}
			var want [][]float64
			tftest.Run(t, `
def check(c):
    rows = lambda x: np.array(x, np.float32).reshape(-1, 3)
    return tf.math.confusion_matrix(tf.argmax(rows(c["t"]), -1), tf.argmax(rows(c["z"]), -1), weights=c["w"], dtype=tf.float64).numpy()
`, map[string]any{"t": targets, "z": scores, "w": weights}, &want)
			if diff := cmp.Diff(want, got.Confusion.Counts); diff != "" {
				t.Errorf("TensorFlow - ours +\n%s", diff)
			}
		})
	}
}

func TestYesAndNoHaveAConfusionMatrixOfTwo(t *testing.T) {
	t.Parallel()
	source := fixed{{Rows: 4, Inputs: map[string]nn.Value{"x": nn.Floats(1, 0, 1e-3, -2, 3)}, Targets: []float32{1, 1, 0, 0}}}
	got, err := train.Measure(t.Context(), identity(t, nn.SigmoidCrossEntropy{}, 1), &source, 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]float64{{1, 1}, {1, 1}}, got.Confusion.Counts); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
}

func TestNumbersAndVeryManyClassesHaveNoConfusionMatrix(t *testing.T) {
	t.Parallel()
	for width, loss := range map[int]nn.Loss{2: nn.MeanSquaredError{}, 257: nn.SoftmaxCrossEntropy{}, 3: nn.SigmoidCrossEntropy{}} {
		source := fixed{{Rows: 1, Inputs: map[string]nn.Value{"x": nn.Floats(width, make([]float32, width)...)}, Targets: make([]float32, width)}}
		got, err := train.Measure(t.Context(), identity(t, loss, width), &source, 0)
		if err != nil || got.Confusion != nil {
			t.Errorf("%s of %d: %v, %v", loss.Name(), width, got.Confusion, err)
		}
	}
}

func TestRowsThatWeighNothingCantBeEvaluated(t *testing.T) {
	t.Parallel()
	for want, weights := range map[string][]float32{
		"evaluate: bad input: the weights of 2 rows add up to 0, expected more than 0": {0, 0}, "evaluate: batch 0: 1 weights for 2 rows": {1},
	} {
		source := fixed{{Rows: 2, Inputs: map[string]nn.Value{"x": nn.Floats(1, 1, 2)}, Targets: []float32{1, 2}, Weights: weights}}
		_, err := train.Evaluate(t.Context(), identity(t, nn.MeanSquaredError{}, 1), &source, 0)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %s", err, want)
		}
	}
}
