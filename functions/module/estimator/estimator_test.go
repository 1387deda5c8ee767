//go:build estimator

package estimator

import (
	_ "embed"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/compute/tf/warmstart"
	"github.com/stoker-ml/stoker/functions/module"
)

//go:embed testdata/estimator.py
var estimatorScript string

// From the checkpoint that TensorFlow's own DNNLinearCombinedClassifier wrote before its first
// step, training here ends with the same weights and metrics. Sums of float32 are in another order,
// and its Adagrad adds epsilon after the root: observed differences are 4e-8 for weights and 2e-7
// for the loss of an example. Rows weigh the same, or as much as one of their features says, 0 to
// 23.
func TestTrainingIsThatOfAnEstimator(t *testing.T) {
	t.Parallel()
	for name, weight := range map[string]string{"unweighted": "", "weighted": "trip_start_hour_xf"} {
		t.Run(name, func(t *testing.T) { trainsAsAnEstimator(t, weight) })
	}
}

func trainsAsAnEstimator(t *testing.T, weight string) {
	t.Parallel()
	const steps = 200
	dir := t.TempDir()
	var want struct {
		Metrics map[string]float64
		Weights map[string][]float32
		Answers []string
		Exports []string
	}
	tftest.RunEstimator(t, estimatorScript, map[string]any{
		"dir": dir, "numeric": taxiNumbers, "buckets": taxiBuckets, "label": "tips_xf", "batch": 40, "steps": steps, "weight": weight,
		"train": taxiInput(t, "train").Files[0], "eval": taxiInput(t, "eval").Files[0],
	}, &want)

	a := assignment(t, steps)
	a.EvalSteps = nil
	same := func(s *Spec, e *DNNLinearCombinedClassifier) {
		s.Train.Input.ShuffleBuffer = 1
		e.DNNHiddenUnits, e.WeightColumn = []int{100, 70, 48, 34}, weight
		e.Config = RunConfig{SaveCheckpointsSteps: steps, WarmStartFrom: filepath.Join(dir, "model.ckpt-0")}
	}
	metrics, err := serve(t.Context(), t, a, small(same), &stopAt{})
	if err != nil {
		t.Fatal(err)
	}
	trained, err := warmstart.Open(a.ServingModelDir)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, tensor := range trained.Tensors {
		values, _, err := trained.Values(tensor)
		if err != nil {
			t.Fatal(err)
		}
		if theirs, ok := want.Weights[tensor.Name]; ok {
			near(t, tensor.Name, values, theirs, 5e-7)
			found++
		}
	}
	if found != len(want.Weights) || found == 0 {
		t.Errorf("%d of TensorFlow's %d variables have a namesake", found, len(want.Weights))
	}
	for name, tolerance := range map[string]float64{
		// In TensorFlow, loss is the mean over batches, of which the last is short; the others are
		// float32.
		"loss": 1e-2 * want.Metrics["loss"] / want.Metrics["average_loss"], "average_loss": 1e-5, "accuracy": 1e-6, "precision": 1e-6, "recall": 1e-6, "global_step": 0,
		"auc": 2e-3, // 200 thresholds there, 10000 here
	} {
		theirs, ok := want.Metrics[name]
		if !ok {
			t.Errorf("TensorFlow has no metric %s", name)
		}
		near(t, name, []float64{metrics[name]}, []float64{theirs}, tolerance)
	}
	answersOf(t, a, want.Answers)
	if shape := regexp.MustCompile(`^/export/chicago-taxi/\d{10}$`); len(want.Exports) != 1 || !shape.MatchString(want.Exports[0]) {
		t.Errorf("TensorFlow's exports are %v", want.Exports)
	}
}

// answersOf compares the outputs of serving_default with those of an Estimator's predict signature.
func answersOf(t *testing.T, a module.Assignment, want []string) {
	t.Helper()
	model, err := savedmodel.Open(a.ServingModelDir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range model.Signatures() {
		if s.Name == "serving_default" {
			for _, out := range s.Outputs {
				got = append(got, out.Name)
			}
		}
	}
	slices.Sort(got)
	// Outputs that are equal for every row are left out, as the package comment says.
	want = slices.DeleteFunc(want, func(name string) bool { return name == "all_class_ids" || name == "all_classes" })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("predict - serving_default +\n%s", diff)
	}
}
