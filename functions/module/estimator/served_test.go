package estimator

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-ml/stoker/compute/nn/optim"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/module"
)

//go:embed testdata/served.py
var servedScript string

// The raw rows from which taxiData's evaluation split was made, in the same order.
const rawTaxi = "../../../compute/data/example/testdata/taxi/examples/Split-eval/data_tfrecord-00000-of-00001.gz"

const taxiEvalRows = 4966

// TensorFlow, given raw rows through the transform graph, predicts for each evaluation row the same
// as the model in memory for the transformed one. The tolerance is the project's for predictions:
// sums of float32 in another order; 5e-7 was observed.
func TestTheServedModelAnswersAsTheOneInMemory(t *testing.T) {
	t.Parallel()
	a := assignment(t, 300)
	a.Predictions = &module.Predictions{Path: filepath.Join(t.TempDir(), "predictions.jsonl"), Rows: 1 << 20}
	large := func(_ *Spec, e *DNNLinearCombinedClassifier) {
		e.Config = RunConfig{SaveCheckpointsSteps: 1000}
		e.DNNHiddenUnits = []int{100, 70, 48, 34}
		// Fast enough to predict both classes.
		e.LinearOptimizer = optim.NewSingle(&optim.FTRL{LearningRate: 0.2, InitialAccumulator: 0.1})
	}
	if _, err := serve(t.Context(), t, a, small(large), &stopAt{}); err != nil {
		t.Fatal(err)
	}
	want := predicted(t, a.Predictions.Path)
	raw, err := filepath.Abs(rawTaxi)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Keys   []string
		Rows   map[string][]float64
		Labels []string
	}
	tftest.RunLive(t, servedScript, map[string]any{"model": a.ServingModelDir, "rows": raw}, &got)
	if len(want["logits"]) != taxiEvalRows || len(got.Keys) != 5 {
		t.Fatalf("%d rows were predicted, the signature gives %v", len(want["logits"]), got.Keys)
	}
	for name, values := range want {
		near(t, name, got.Rows[name], values, 1e-5)
	}
	classes := map[string]int{}
	for i, id := range want["class_ids"] {
		classes[got.Labels[i]]++
		if yes := want["logits"][i] > 0; yes != (id == 1) || yes != (got.Labels[i] == "1") {
			t.Fatalf("row %d has logit %v, class id %v and is of class %s", i, want["logits"][i], id, got.Labels[i])
		}
	}
	if len(classes) != 2 {
		t.Errorf("all rows are of one class: %v", classes)
	}
	for i, p := range want["logistic"] {
		if math.Abs(want["probabilities"][2*i]+p-1) > 1e-6 || want["probabilities"][2*i+1] != p {
			t.Fatalf("row %d: probabilities %v, logistic %v", i, want["probabilities"][2*i:2*i+2], p)
		}
	}
}

// predicted reads the numbers of predictions, all rows of an output one after another.
func predicted(t *testing.T, path string) map[string][]float64 {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := map[string][]float64{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var row map[string][]any
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		for name, values := range row {
			for _, v := range values {
				if x, ok := v.(float64); ok {
					all[name] = append(all[name], x)
				}
			}
		}
	}
	return all
}
