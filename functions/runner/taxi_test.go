//go:build estimator || tfx

package runner_test

import (
	_ "embed"
	"path/filepath"
	"testing"

	"github.com/stoker-ml/stoker/functions/module"
)

// rideScript makes raw examples of taxi rides, for scripts that it is added to.
//
//go:embed testdata/chicago_taxi/ride.py
var rideScript string

// taxiAssignment returns an assignment that trains a module on the taxi example's data.
func taxiAssignment(t *testing.T, source module.Source, steps int) module.Assignment {
	t.Helper()
	data, err := filepath.Abs("../../local/examples/taxi/data")
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	return module.Assignment{
		Version: module.ProtocolVersion, Call: module.CallTrain, Transformed: true, TrainSteps: &steps, EvalSteps: new(50),
		Module:             source,
		TrainFiles:         []string{filepath.Join(data, "transformed_examples", "Split-train", "*")},
		EvalFiles:          []string{filepath.Join(data, "transformed_examples", "Split-eval", "*")},
		SchemaPath:         filepath.Join(data, "transform_graph", "metadata", "schema.pbtxt"),
		TransformGraphPath: filepath.Join(data, "transform_graph"), WorkingDir: t.TempDir(), ModelRunDir: t.TempDir(),
		ServingModelDir: filepath.Join(out, "Format-Serving"), EvalModelDir: filepath.Join(out, "Format-TFMA"),
	}
}
