package runner_test

import (
	"path/filepath"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// TestTheRunFnOfTFXsGuideServesRawRows runs a module in the shape that TFX's guide to the Trainer shows. It saves as
// Keras 2 does alone, which nobody tells the host.
func TestTheRunFnOfTFXsGuideServesRawRows(t *testing.T) {
	t.Parallel()
	host, err := runner.New(runner.Options{Python: tftest.Python(t), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	data, err := filepath.Abs("../../local/examples/taxi/data")
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	a := module.Assignment{
		Version: module.ProtocolVersion, Call: module.CallTrain, Transformed: true, TrainSteps: new(150), EvalSteps: new(20),
		Module:             module.Source{Path: documented(t)},
		TrainFiles:         []string{filepath.Join(data, "transformed_examples", "Split-train", "*")},
		EvalFiles:          []string{filepath.Join(data, "transformed_examples", "Split-eval", "*")},
		TransformGraphPath: filepath.Join(data, "transform_graph"), WorkingDir: t.TempDir(), ModelRunDir: t.TempDir(),
		SchemaPath:      filepath.Join(data, "transform_graph", "transformed_metadata", "schema.pbtxt"),
		ServingModelDir: filepath.Join(out, "Format-Serving"), EvalModelDir: filepath.Join(out, "Format-TFMA"),
	}
	outcome, err := host.Run(t.Context(), a, runner.Limits{}, nil)
	if err != nil {
		t.Fatal(err, outcome.LogTail)
	}
	var tips struct{ Card, Cash float64 }
	tftest.Run(t, askForTips, map[string]string{"model": a.ServingModelDir}, &tips)
	if tips.Card < 0.2 || tips.Cash > 0.1 || tips.Card < 5*tips.Cash {
		t.Errorf("a long ride paid by card is tipped well with probability %.3f, one paid in cash with %.3f: cash tips are not recorded", tips.Card, tips.Cash)
	}
}

// askForTips serves raw rows as TensorFlow Serving would.
const askForTips = `
def row(payment):
    feature = tf.train.Feature
    floats = lambda v: feature(float_list=tf.train.FloatList(value=[v]))
    ints = lambda v: feature(int64_list=tf.train.Int64List(value=[v]))
    words = lambda v: feature(bytes_list=tf.train.BytesList(value=[v]))
    return tf.train.Example(features=tf.train.Features(feature={
        "fare": floats(20.0), "trip_miles": floats(6.0), "trip_seconds": ints(1200), "payment_type": words(payment), "company": words(b"Taxi"),
        "trip_start_hour": ints(12), "trip_start_day": ints(3), "trip_start_month": ints(5), "trip_start_timestamp": ints(1400000000),
        "pickup_latitude": floats(41.9), "pickup_longitude": floats(-87.6), "dropoff_latitude": floats(41.9), "dropoff_longitude": floats(-87.6),
        "pickup_community_area": ints(8), "dropoff_community_area": ints(8),
    })).SerializeToString()

def check(input):
    serve = tf.saved_model.load(input["model"]).signatures["serving_default"]
    card, cash = serve(examples=tf.constant([row(b"Credit Card"), row(b"Cash")]))["outputs"].numpy()[:, 0]
    return {"Card": float(card), "Cash": float(cash)}
`

func documented(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("testdata/documented/taxi_run_fn.py")
	if err != nil {
		t.Fatal(err)
	}
	return path
}
