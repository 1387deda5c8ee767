package estimator

import (
	_ "embed"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/compute/train"
)

//go:embed testdata/taxi.py
var taxiScript string

const taxiData = "../../../local/examples/taxi/data"

var (
	taxiNumbers = []string{"trip_miles_xf", "fare_xf", "trip_seconds_xf"}
	taxiBuckets = map[string]int{
		"payment_type_xf": 1010, "company_xf": 1010, "pickup_latitude_xf": 10, "pickup_longitude_xf": 10, "dropoff_latitude_xf": 10,
		"dropoff_longitude_xf": 10, "trip_start_hour_xf": 24, "trip_start_day_xf": 31, "trip_start_month_xf": 12,
	}
)

// taxi is the wide & deep model of TFX's taxi example.
func taxi() DNNLinearCombinedClassifier {
	e := DNNLinearCombinedClassifier{DNNHiddenUnits: []int{100, 70, 48, 34}}
	for _, key := range taxiNumbers {
		e.DNNFeatureColumns = append(e.DNNFeatureColumns, Numeric{key})
	}
	for key, n := range taxiBuckets {
		e.LinearFeatureColumns = append(e.LinearFeatureColumns, Identity{Key: key, NumBuckets: n})
	}
	return e
}

func taxiFeatures(t *testing.T) example.Spec {
	t.Helper()
	schema, err := example.ReadSchema(filepath.Join(taxiData, "transform_graph", "transformed_metadata", "schema.pbtxt"))
	if err != nil {
		t.Fatal(err)
	}
	spec, err := schema.Spec()
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func taxiInput(t *testing.T, split string) Input {
	t.Helper()
	files, err := filepath.Abs(filepath.Join(taxiData, "transformed_examples", "Split-"+split, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return Input{Files: []string{files}, Features: taxiFeatures(t), Label: "tips_xf", BatchSize: 40, ShuffleBuffer: 1}
}

type weights struct {
	Shape  []int     `json:"shape"`
	Values []float32 `json:"values"`
}

// From the same weights, over the same batches, the same optimizers of TensorFlow give the same
// steps. Only sums of float32 are in another order: observed differences are at most 2.4e-7 for
// losses and 2.2e-8 for weights; the bound is ten times that.
func TestTheTaxiModelLearnsAsInTensorFlow(t *testing.T) {
	t.Parallel()
	const steps = 250
	in, eval := taxiInput(t, "train"), taxiInput(t, "eval")
	p, err := taxi().plan()
	if err != nil {
		t.Fatal(err)
	}
	n, err := p.build(in.Features, 7)
	if err != nil {
		t.Fatal(err)
	}
	start := map[string]weights{}
	for _, w := range n.Graph.Params {
		start[w.Name] = weights{w.Shape, append([]float32(nil), w.Values...)}
	}
	var want struct {
		Losses  []float64
		Weights map[string][]float32
		AUC     float64
	}
	tftest.Run(t, taxiScript, map[string]any{
		"weights": start, "numeric": taxiNumbers, "buckets": taxiBuckets, "label": in.Label, "batch": in.BatchSize, "layers": 4,
		"steps": steps,
		"train": in.Files[0], "eval": eval.Files[0],
	}, &want)

	var losses []float64
	o := train.Options{Steps: steps, BatchSize: in.BatchSize, Optimizer: n.optimizer}
	o.Stepped = func(_ int, loss float32) { losses = append(losses, float64(loss)) }
	rows, evalRows := reading(t, in.training(0, nil), in, n, p), reading(t, eval.evaluation(nil), eval, n, p)
	result, err := train.Run(t.Context(), o, n.Model, rows, evalRows)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "losses", losses, want.Losses, 2.5e-6)
	for _, w := range n.Graph.Params {
		near(t, w.Name, w.Values, want.Weights[w.Name], 2.5e-7)
	}
	t.Logf("after %d steps AUC is %.5f, TensorFlow's %.5f", steps, result.Metrics["auc"], want.AUC)
	// A row close to a threshold of the curve may change sides.
	if math.Abs(result.Metrics["auc"]-want.AUC) > 1e-4 || want.AUC < 0.9 {
		t.Errorf("AUC is %v, TensorFlow's %v", result.Metrics["auc"], want.AUC)
	}
}

func reading(t *testing.T, o example.Options, in Input, n network, p plan) train.Source {
	t.Helper()
	r, err := example.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return train.FromExamples(r, in.feed(n, p))
}

func near[T float32 | float64](t *testing.T, what string, got, want []T, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, TensorFlow has %d", what, len(got), len(want))
	}
	worst := 0.0
	for i := range got {
		worst = max(worst, math.Abs(float64(got[i])-float64(want[i])))
	}
	t.Logf("%s: within %.2g", what, worst)
	if !(worst <= tolerance) {
		t.Errorf("%s: differ by %g, expected at most %g", what, worst, tolerance)
	}
}

// Variables have the names of TensorFlow's canned Estimators, so that weights can be copied in both
// directions by name.
func TestVariablesHaveTheNamesOfEstimators(t *testing.T) {
	t.Parallel()
	e := taxi()
	company, day := Identity{Key: "company_xf", NumBuckets: 1010}, Identity{Key: "trip_start_day_xf", NumBuckets: 31}
	e.DNNFeatureColumns = append(e.DNNFeatureColumns, Embedding{company, 3}, Indicator{day})
	p, err := e.plan()
	if err != nil {
		t.Fatal(err)
	}
	n, err := p.build(taxiFeatures(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, w := range n.Graph.Params {
		if w.Trainable {
			names = append(names, w.Name)
		}
	}
	want := `dnn/input_from_feature_columns/input_layer/company_xf_embedding/embedding_weights
dnn/hiddenlayer_0/kernel dnn/hiddenlayer_0/bias dnn/hiddenlayer_1/kernel dnn/hiddenlayer_1/bias
dnn/hiddenlayer_2/kernel dnn/hiddenlayer_2/bias dnn/hiddenlayer_3/kernel dnn/hiddenlayer_3/bias dnn/logits/kernel dnn/logits/bias
linear/linear_model/company_xf/weights linear/linear_model/dropoff_latitude_xf/weights linear/linear_model/dropoff_longitude_xf/weights
linear/linear_model/payment_type_xf/weights linear/linear_model/pickup_latitude_xf/weights linear/linear_model/pickup_longitude_xf/weights
linear/linear_model/trip_start_day_xf/weights linear/linear_model/trip_start_hour_xf/weights linear/linear_model/trip_start_month_xf/weights
linear/linear_model/bias_weights`
	if got := strings.Join(names, " "); got != strings.ReplaceAll(want, "\n", " ") {
		t.Errorf("variables are %s", got)
	}
}
