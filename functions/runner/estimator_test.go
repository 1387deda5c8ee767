//go:build estimator

package runner_test

import (
	"context"
	_ "embed"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

//go:embed testdata/chicago_taxi/exports.py
var exportsScript string

// The trainer_fn in TFX's guide, with a FinalExporter, a warm start and a receiver for evaluation,
// is trained by real Estimators. The model that it exports serves raw examples, and can be
// evaluated.
func TestEstimatorModuleIsTrainedExportedAndResumed(t *testing.T) {
	t.Parallel()
	r, err := runner.New(runner.Options{Python: tftest.EstimatorPython(t), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)

	first := estimatorAssignment(t, 200)
	base, reports := runTaxi(t, r, first)
	if base["accuracy"] < 0.75 || base["loss"] <= 0 {
		t.Errorf("metrics %v, want an accuracy over 0.75", base)
	}
	if len(reports) < 2 || reports[len(reports)-1].Step != 200 || reports[len(reports)-1].Steps != 200 {
		t.Errorf("progress %v, want it to end with step 200 of 200", reports)
	}
	checkExports(t, first)

	// A worker that was lost when all was trained: the checkpoint exists, the exports don't.
	lost := first
	exports := filepath.Join(first.ModelRunDir, "Format-Serving", "export")
	for _, folder := range []string{first.ServingModelDir, first.EvalModelDir, exports} {
		if err := os.RemoveAll(folder); err != nil {
			t.Fatal(err)
		}
	}
	again, _ := runTaxi(t, r, lost)
	if math.Abs(again["loss"]-base["loss"]) > 1e-6 {
		t.Errorf("evaluated again without training the loss is %g, was %g", again["loss"], base["loss"])
	}
	checkExports(t, lost)

	// One step from the base model is about as good as the base model: from scratch the loss after
	// one step was over 0.6.
	warm := estimatorAssignment(t, 1)
	warm.BaseModel = first.ServingModelDir
	if metrics, _ := runTaxi(t, r, warm); metrics["loss"] > base["loss"]+0.05 {
		t.Errorf("one step after a warm start the loss is %g, that of the base model %g", metrics["loss"], base["loss"])
	}
}

// When a worker is stopped, the Estimator saves a checkpoint, and the next attempt continues from
// there.
func TestEstimatorModuleGoesOnWhereItWasStopped(t *testing.T) {
	t.Parallel()
	r, err := runner.New(runner.Options{Python: tftest.EstimatorPython(t), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)

	a := estimatorAssignment(t, 1_000_000)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var kept module.Message
	outcome, err := r.Run(ctx, a, runner.Limits{Grace: 20 * time.Second}, func(m module.Message) {
		switch {
		case m.Type == module.MessageCheckpoint:
			kept = m
		case m.Step >= 100:
			stop()
		}
	})
	if err == nil || kept.Step < 100 {
		t.Fatalf("stopped by %v with a checkpoint of step %d, want one of step 100 or more: %s", err, kept.Step, outcome.LogTail)
	}

	more := kept.Step + 20
	a.TrainSteps = &more
	_, reports := runTaxi(t, r, a)
	if len(reports) == 0 || reports[0].Step < kept.Step {
		t.Errorf("the next attempt reports %v, want it to begin with step %d", reports, kept.Step)
	}
}

// An exporter may be wrapped several times: its export is then rewritten by one rewriter after the
// other.
func TestEstimatorModuleRewritesWhatItExports(t *testing.T) {
	t.Parallel()
	r, err := runner.New(runner.Options{Python: tftest.EstimatorPython(t), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	folder, err := filepath.Abs("testdata/chicago_taxi")
	if err != nil {
		t.Fatal(err)
	}
	a := taxiAssignment(t, module.Source{Path: folder, RunFn: "rewriting.trainer_fn"}, 10)
	runTaxi(t, r, a)
	last, err := os.ReadFile(filepath.Join(a.ServingModelDir, "assets.extra", "c"))
	if err != nil || string(last) != "a,b,c" {
		t.Errorf("the last rewriter found %q, %v, want that two were before it", last, err)
	}
	if _, err := os.Stat(filepath.Join(a.ServingModelDir, "saved_model.pb")); err != nil {
		t.Error(err)
	}
}

// An Estimator whose RunConfig names no strategy trains in the scope of one as it does without, and
// the log says that it did not use the strategy. It does not train with several workers, because
// each would start a server at the address of the strategy's.
func TestEstimatorModuleAndStrategies(t *testing.T) {
	t.Parallel()
	r, err := runner.New(runner.Options{Python: tftest.EstimatorPython(t), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)

	mirrored := estimatorAssignment(t, 10)
	mirrored.Strategy = module.StrategyMirrored
	outcome, err := r.Run(t.Context(), mirrored, runner.Limits{}, nil)
	if err != nil || !strings.Contains(outcome.LogTail, "the module trained no step with the strategy") {
		t.Error(err, outcome.LogTail)
	}
	if _, err := os.Stat(filepath.Join(mirrored.ServingModelDir, "saved_model.pb")); err != nil {
		t.Error(err)
	}

	several := estimatorAssignment(t, 10)
	several.Strategy, several.Workers = module.StrategyMultiWorker, 2
	_, err = r.Run(t.Context(), several, runner.Limits{}, nil)
	if failed := asError(t, err); failed.Kind != runner.KindModule || !strings.Contains(failed.Error(), "resources.workers: trainer_fn creates an Estimator") {
		t.Errorf("%s: %v\n%s", failed.Kind, err, failed.LogTail)
	}
}

func runTaxi(t *testing.T, r *runner.Runner, a module.Assignment) (map[string]float64, []module.Message) {
	t.Helper()
	var training []module.Message
	outcome, err := r.Run(t.Context(), a, runner.Limits{}, func(m module.Message) {
		if m.Type == module.MessageProgress && m.Phase == "training" {
			training = append(training, m)
		}
	})
	if err != nil {
		t.Fatal(err, outcome.LogTail)
	}
	return outcome.Metrics, training
}

// checkExports has TensorFlow read both models of an assignment.
func checkExports(t *testing.T, a module.Assignment) {
	t.Helper()
	var got struct {
		Card, Cash float64 // probabilities of a good tip
		// The evaluation model's accuracy on rows whose labels are the model's own answers.
		Accuracy float64
		Inputs   []string
	}
	folders := map[string]string{"serving": a.ServingModelDir, "eval": a.EvalModelDir}
	tftest.RunEstimator(t, exportsScript+rideScript, folders, &got)
	if got.Card < 0.1 || got.Cash > 0.1 || got.Card < 3*got.Cash {
		t.Errorf("a ride paid by card is tipped with probability %.3f, in cash, where nobody records it, %.3f", got.Card, got.Cash)
	}
	if inputs := strings.Join(got.Inputs, " "); !strings.Contains(inputs, "features/fare features/fare_xf") ||
		!strings.Contains(inputs, "input_refs inputs/examples labels tfma/version") {
		t.Errorf("inputs of the evaluation model: %s", inputs)
	}
	if got.Accuracy != 1 {
		t.Errorf("on rows that carry its own answers the evaluation model has an accuracy of %g", got.Accuracy)
	}
}

func estimatorAssignment(t *testing.T, steps int) module.Assignment {
	t.Helper()
	file, err := filepath.Abs("testdata/chicago_taxi/taxi_estimator.py")
	if err != nil {
		t.Fatal(err)
	}
	return taxiAssignment(t, module.Source{Path: file}, steps)
}
