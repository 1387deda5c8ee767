package estimator

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/module"
)

// Each canned Estimator applies its fields for dropout and weights.
func TestEveryEstimatorTakesDropoutAndWeights(t *testing.T) {
	t.Parallel()
	for _, e := range []Estimator{
		DNNLinearCombinedClassifier{DNNDropout: 0.25, WeightColumn: "w"}, DNNLinearCombinedRegressor{DNNDropout: 0.25, WeightColumn: "w"},
		DNNClassifier{Dropout: 0.25, WeightColumn: "w"}, DNNRegressor{Dropout: 0.25, WeightColumn: "w"},
		LinearClassifier{WeightColumn: "w"}, LinearRegressor{WeightColumn: "w"},
	} {
		p, err := e.plan()
		if err != nil || p.weight != "w" || strings.HasPrefix(reflect.TypeOf(e).Name(), "DNN") != (p.dropout == 0.25) {
			t.Errorf("%T has weight column %q and dropout %v: %v", e, p.weight, p.dropout, err)
		}
	}
}

// The loss of an evaluation is divided by rows, like that of a step, and the average loss by
// weights: the ages, which are 0 to 80.
func TestMetricsAreByWeight(t *testing.T) {
	t.Parallel()
	for _, weight := range []string{"", "age"} {
		a := shopping(t)
		metrics, err := serve(t.Context(), t, a, selling("paid", LinearRegressor{FeatureColumns: []LinearColumn{Numeric{"age"}}, WeightColumn: weight}), &stopAt{})
		if err != nil {
			t.Fatal(err)
		}
		mean := 1.0
		if weight != "" {
			mean = metrics["weighted_example_count"] / metrics["example_count"]
		}
		if average := metrics["rmse"] * metrics["rmse"]; math.Abs(average-metrics["average_loss"]) > 1e-6*average {
			t.Errorf("weight %q: the average loss of a number is not the square of its rmse: %v", weight, metrics)
		}
		if ratio := metrics["loss"] / metrics["average_loss"]; math.Abs(ratio/mean-1) > 1e-12 || weight != "" && !(mean > 35 && mean < 45) {
			t.Errorf("weight %q: loss is %v times the average loss, weights are %v on average: %v", weight, ratio, mean, metrics)
		}
	}
}

func TestAWeightIsASingleNumber(t *testing.T) {
	t.Parallel()
	e := LinearRegressor{FeatureColumns: []LinearColumn{Numeric{"age"}}, WeightColumn: "city"}
	_, err := serve(t.Context(), t, shopping(t), selling("paid", e), &stopAt{})
	if err == nil || err.Error() != `estimator: weight column "city": expected a feature that is a single number` {
		t.Errorf("error is %v", err)
	}
}

// A served model has no dropout, and does not need a weight.
func TestWhatIsServedHasNoDropoutAndNoWeight(t *testing.T) {
	t.Parallel()
	a := shopping(t)
	a.Predictions = &module.Predictions{Path: filepath.Join(t.TempDir(), "predictions.jsonl"), Rows: 500}
	e := DNNRegressor{FeatureColumns: []DenseColumn{Indicator{Vocabulary{Key: "city"}}}, Optimizer: quick(), HiddenUnits: []int{8}, Dropout: 0.5, WeightColumn: "age"}
	if _, err := serve(t.Context(), t, a, selling("paid", e), &stopAt{}); err != nil {
		t.Fatal(err)
	}
	compareServed(t, a)
	graph, err := os.ReadFile(filepath.Join(a.ServingModelDir, "saved_model.pb"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(graph, []byte("hiddenlayer_0")) || bytes.Contains(graph, []byte("dropout")) {
		t.Error("the model has a dropout in it")
	}
}
