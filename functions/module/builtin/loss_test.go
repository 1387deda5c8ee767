package builtin

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/train"
)

// rows / (classes x rows of the class), as in sklearn.utils.class_weight.compute_class_weight.
func TestBalancedWeightsLetClassesCountTheSame(t *testing.T) {
	t.Parallel()
	g := goal{task: classification, label: train.Label{Classes: 4}}
	got, err := lossConfig{ClassWeights: balanced}.weigh(g, &survey{classes: map[int64]float64{0: 50, 1: 25, 2: 5}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]float32{0.4, 0.8, 4, 0}, got); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
}

func TestTheLearningRateThatIsLoggedIsTheSchedules(t *testing.T) {
	t.Parallel()
	c := config{LearningRate: 0.5, stepsConfig: stepsConfig{Schedule: map[string]any{"name": "ExponentialDecay", "decay_steps": 10, "decay_rate": 0.1}}}
	for step, want := range map[int]float64{0: 0.5, 1: 0.5, 11: 0.05, 21: 0.005} {
		if got := c.rateOf(step); got < want*(1-1e-9) || got > want*(1+1e-9) {
			t.Errorf("step %d: %v, want %v", step, got, want)
		}
	}
}
