package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// steps are enough for the model to be worth its name, and few enough for seconds.
const steps = 1500

// The module is built and run as a worker does it. Its process is killed in the middle; another one
// continues from the last checkpoint and writes the same model, byte for byte, as a process that
// was not killed.
func TestTippersAreClassified(t *testing.T) {
	t.Parallel()
	host, whole, killed := worker(t), assignment(t), assignment(t)
	metrics, err := train(t.Context(), host, whole, func(module.Message) {})
	if err != nil {
		t.Fatal(err)
	}
	// Seen: 0.925. TensorFlow, training the same model on the same rows, is equally far at every
	// step: functions/module/estimator has the test. Guessing gives 0.5.
	if metrics["auc"] < 0.91 {
		t.Errorf("AUC is %.3f of %v", metrics["auc"], metrics)
	}

	ctx, kill := context.WithCancel(t.Context())
	_, err = train(ctx, host, killed, func(m module.Message) {
		if m.Step >= 1200 {
			kill()
		}
	})
	if failed, ok := errors.AsType[*runner.Error](err); !ok || failed.Kind != runner.KindStopped {
		t.Fatalf("error is %v, expected that it was stopped", err)
	}
	checkpoints, err := filepath.Glob(filepath.Join(killed.WorkingDir, "checkpoints", "*.ckpt"))
	if err != nil || len(checkpoints) != 1 || filepath.Base(checkpoints[0]) != "step-999.ckpt" {
		t.Fatalf("checkpoints are %v, %v: it was not killed but left", checkpoints, err)
	}
	killed.ModelRunDir = filepath.Join(t.TempDir(), "model_run") // another attempt's
	if _, err := train(t.Context(), host, killed, func(module.Message) {}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(files(t, whole.ServingModelDir), files(t, killed.ServingModelDir)); diff != "" {
		t.Error("the model of a training that was killed is another one")
	}
	exports, err := filepath.Glob(filepath.Join(killed.ModelRunDir, "Format-Serving", "export", "chicago-taxi", "*", "saved_model.pb"))
	if err != nil || len(exports) != 1 {
		t.Errorf("exports are %v, %v", exports, err)
	}
}

func TestRawExamplesAreRefusedWithWhatIsNeeded(t *testing.T) {
	t.Parallel()
	a := assignment(t)
	a.Transformed = false
	_, err := train(t.Context(), worker(t), a, func(module.Message) {})
	if err == nil || !strings.Contains(err.Error(), "learns from transformed examples") {
		t.Errorf("error is %v", err)
	}
}

// worker returns what runs modules for a worker.
func worker(t *testing.T) *runner.Runner {
	t.Helper()
	host, err := runner.New(runner.Options{CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	return host
}

// train runs the assignment in a process that is killed, with no time to leave, when ctx ends.
func train(ctx context.Context, host *runner.Runner, a module.Assignment, on func(module.Message)) (map[string]float64, error) {
	outcome, err := host.Run(ctx, a, runner.Limits{Timeout: 5 * time.Minute, Grace: time.Nanosecond}, on)
	return outcome.Metrics, err
}

func assignment(t *testing.T) module.Assignment {
	t.Helper()
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	out, data := t.TempDir(), filepath.Join(here, "data")
	a := module.Assignment{
		Version: module.ProtocolVersion, Module: module.Source{Path: here}, Call: module.CallTrain, WorkingDir: filepath.Join(out, "working"),
		TrainFiles:         []string{filepath.Join(data, "transformed_examples", "Split-train", "*")},
		EvalFiles:          []string{filepath.Join(data, "transformed_examples", "Split-eval", "*")},
		TrainSteps:         new(steps),
		TransformGraphPath: filepath.Join(data, "transform_graph"), Transformed: true,
		ServingModelDir: filepath.Join(out, "model", "Format-Serving"), ModelRunDir: filepath.Join(out, "model_run"),
	}
	if err := os.MkdirAll(a.WorkingDir, 0o755); err != nil {
		t.Fatal(err)
	}
	return a
}

func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		found[strings.TrimPrefix(path, dir)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
