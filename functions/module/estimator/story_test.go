package estimator

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
	"github.com/stoker-ml/stoker/functions/module"
)

// threeExporters has one of each kind, and serves the best.
func threeExporters(s *Spec, _ *DNNLinearCombinedClassifier) {
	_, in := s.Eval.Exporters[0].about()
	s.Eval.Exporters = []Exporter{
		FinalExporter{Name: "final", ServingInput: in},
		LatestExporter{Name: "latest", ServingInput: in, ExportsToKeep: 2},
		// The best are the second and the third of five: not by loss, which may always decrease.
		BestExporter{Name: "best", ServingInput: in, Compare: func(_, current map[string]float64) bool {
			return current["global_step"] <= 30
		}},
	}
	s.Serve = "best"
}

func TestExportsStandWhereTFXLeavesThem(t *testing.T) {
	t.Parallel()
	a := assignment(t, 50)
	metrics, err := serve(t.Context(), t, a, small(threeExporters), &stopAt{})
	if err != nil {
		t.Fatal(err)
	}
	if metrics["global_step"] != 50 || metrics["average_loss"] != metrics["loss"] || metrics["auc"] == 0 {
		t.Errorf("metrics are %v", metrics)
	}
	const want = "best/1700000000 best/1700000001 best/1700000002 final/1700000000 latest/1700000003 latest/1700000004"
	if got := exportsIn(t, a.ModelRunDir); got != want {
		t.Errorf("exports are %s, expected %s", got, want)
	}
	served := files(t, a.ServingModelDir)
	if diff := cmp.Diff(files(t, filepath.Join(a.ModelRunDir, "Format-Serving", "export", "best", "1700000002")), served); diff != "" {
		t.Errorf("the flat copy is not the newest of the best: %s", diff)
	}
	if cmp.Equal(served, files(t, filepath.Join(a.ModelRunDir, "Format-Serving", "export", "final", "1700000000"))) {
		t.Error("the best at step 30 is the final one, of step 50")
	}
	if err := savedmodel.Check(a.EvalModelDir); err != nil {
		t.Error(err)
	}
	if err := savedmodel.Check(filepath.Join(a.ModelRunDir, "Format-TFMA", "1700000002")); err != nil {
		t.Error(err)
	}
}

// Wherever a training is interrupted, and with a new model_run folder, it leaves the same files as
// an uninterrupted one, byte for byte.
func TestAResumedTrainingLeavesTheSameBytes(t *testing.T) {
	t.Parallel()
	story := small(func(s *Spec, e *DNNLinearCombinedClassifier) {
		threeExporters(s, e)
		e.DNNDropout, e.WeightColumn = 0.3, "trip_start_hour_xf"
	})
	whole := assignment(t, 50)
	if _, err := serve(t.Context(), t, whole, story, &stopAt{}); err != nil {
		t.Fatal(err)
	}
	want := files(t, filepath.Dir(whole.ServingModelDir))
	for name, stop := range map[string]*stopAt{
		"at a checkpoint":  {kind: module.MessageCheckpoint, step: 20},
		"in an evaluation": {kind: module.MessageProgress, step: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := assignment(t, 50)
			ctx, cancel := context.WithCancel(t.Context())
			stop.stop = cancel
			if _, err := serve(ctx, t, a, story, stop); err == nil {
				t.Fatal("it was not stopped")
			}
			a.ModelRunDir = filepath.Join(t.TempDir(), "model_run") // another attempt's
			if _, err := serve(t.Context(), t, a, story, &stopAt{}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, files(t, filepath.Dir(a.ServingModelDir))); diff != "" {
				t.Errorf("undisturbed - resumed +\n%s", diff)
			}
			if got, want := exportsIn(t, a.ModelRunDir), exportsIn(t, whole.ModelRunDir); got != want {
				t.Errorf("exports are %s, expected %s", got, want)
			}
		})
	}
}

// An attempt was lost after it had exported, and its newest checkpoint with it: the exports of
// steps that are repeated are removed.
func TestExportsOfALostAttemptGo(t *testing.T) {
	t.Parallel()
	a := assignment(t, 50)
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := serve(ctx, t, a, small(threeExporters), &stopAt{kind: module.MessageCheckpoint, step: 20, stop: cancel}); err == nil {
		t.Fatal("it was not stopped")
	}
	if err := os.Remove(filepath.Join(a.WorkingDir, "checkpoints", "step-20.ckpt")); err != nil {
		t.Fatal(err)
	}
	half := filepath.Join(a.WorkingDir, "exports", "latest", "1700000077") // incomplete
	if err := os.MkdirAll(half, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := serve(t.Context(), t, a, small(threeExporters), &stopAt{}); err != nil {
		t.Fatal(err)
	}
	const want = "best/1700000000 best/1700000001 best/1700000002 final/1700000000 latest/1700000003 latest/1700000004"
	if _, err := os.Stat(half); err == nil {
		t.Error("half an export is still there")
	}
	if got := exportsIn(t, a.ModelRunDir); got != want {
		t.Errorf("exports are %s, expected %s", got, want)
	}
}

// The working directory was copied just when an old export was removed.
func TestAnExportThatIsNotThereIsForgotten(t *testing.T) {
	t.Parallel()
	a := assignment(t, 50)
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := serve(ctx, t, a, small(threeExporters), &stopAt{kind: module.MessageCheckpoint, step: 20, stop: cancel}); err == nil {
		t.Fatal("it was not stopped")
	}
	if err := os.RemoveAll(filepath.Join(a.WorkingDir, "exports", "latest", "1700000001")); err != nil {
		t.Fatal(err)
	}
	if _, err := serve(t.Context(), t, a, small(threeExporters), &stopAt{}); err != nil {
		t.Fatal(err)
	}
	const want = "best/1700000000 best/1700000001 best/1700000002 final/1700000000 latest/1700000002 latest/1700000003"
	if got := exportsIn(t, a.ModelRunDir); got != want {
		t.Errorf("exports are %s, expected %s", got, want)
	}
}
