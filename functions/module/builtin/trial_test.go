package builtin_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/train"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/builtin"
)

// trial returns a trial of the penguin search.
func trial(t testing.TB, values map[string]any) module.Assignment {
	t.Helper()
	a := assignment(t, "penguin", true, penguin())
	a.Call, a.ServingModelDir = module.CallTrial, ""
	a.Trial = &module.Trial{Study: "c0ffee", ID: "0003"}
	a.TrainSteps = new(40)
	a.Hyperparameters = map[string]any{"values": values}
	return a
}

func TestATrialIsTheTrainingOfItsValues(t *testing.T) {
	t.Parallel()
	for name, values := range map[string]map[string]any{
		"rate":  {"learning_rate": 0.05, "units": 16.0, "num_layers": 2.0},
		"batch": {"batch_size": 7.0, "optimizer": "sgd", "seed": 5.0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := trial(t, values)
			trained := a
			trained.Call, trained.Trial, trained.ModelRunDir = module.CallTrain, nil, ""
			trained.ServingModelDir, trained.WorkingDir = filepath.Join(t.TempDir(), "model"), t.TempDir()
			if diff := cmp.Diff(done(t, run(t, "dnn", trained)), done(t, run(t, "dnn", a))); diff != "" {
				t.Errorf("metrics of the training - and of the trial +\n%s", diff)
			}
			if left := files(t, filepath.Dir(a.WorkingDir)); len(left) > 0 {
				t.Errorf("the trial left %v", left)
			}
		})
	}
}

func TestATrialIsMeasuredOnItsWay(t *testing.T) {
	t.Parallel()
	messages := run(t, "dnn", trial(t, nil))
	var at []int
	last := map[string]float64{}
	for _, m := range messages {
		if _, measured := m.Metrics["accuracy"]; measured && m.Type == module.MessageProgress {
			at, last = append(at, m.Step), m.Metrics
		} else if _, mixed := m.Metrics["loss"]; mixed && m.Type == module.MessageProgress {
			t.Errorf("the loss of the training is reported as that of an evaluation: %+v", m)
		}
	}
	if diff := cmp.Diff([]int{5, 10, 15, 20, 25, 30, 35, 40}, at); diff != "" {
		t.Errorf("steps: want - got +\n%s", diff)
	}
	if diff := cmp.Diff(last, done(t, messages)); diff != "" {
		t.Errorf("last measured - result +\n%s", diff)
	}
}

// Two halves of the steps give the same bits as all of them, including Adam's state and the order
// of the data.
func TestATrialGoesOnFromItsParent(t *testing.T) {
	t.Parallel()
	whole := trial(t, nil)
	want := done(t, run(t, "dnn", whole))
	first := trial(t, nil)
	first.TrainSteps, first.Trial = new(20), &module.Trial{Study: "c0ffee", ID: "0004", Epochs: 2, Keep: true}
	run(t, "dnn", first)
	second := trial(t, nil)
	second.WorkingDir = first.WorkingDir
	second.Trial = &module.Trial{Study: "c0ffee", ID: "0009", Parent: "0004", From: 2, Epochs: 4}
	messages := run(t, "dnn", second)
	if diff := cmp.Diff(want, done(t, messages)); diff != "" {
		t.Errorf("metrics of one trial - and of two +\n%s", diff)
	}
	for _, m := range messages {
		if m.Type == module.MessageProgress && m.Step <= 20 {
			t.Errorf("the parent's course is reported as its child's: %+v", m)
		}
	}
}

func TestAnAttemptContinuesTheCourseOfTheOneBefore(t *testing.T) {
	t.Parallel()
	want := course(run(t, "dnn", trial(t, nil)))
	a := trial(t, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	preempted := errors.New("preempted")
	err := builtin.Run(ctx, "dnn", a, func(m module.Message) {
		if m.Step == 25 && m.Type == module.MessageProgress {
			cancel(preempted)
		}
	})
	if !errors.Is(err, preempted) {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, course(run(t, "dnn", a))); diff != "" {
		t.Errorf("course undisturbed - and resumed +\n%s", diff)
	}
}

// course returns the metric measured at each step.
func course(messages []module.Message) map[int]float64 {
	measured := map[int]float64{}
	for _, m := range messages {
		if accuracy, ok := m.Metrics["accuracy"]; ok && m.Type == module.MessageProgress {
			measured[m.Step] = accuracy
		}
	}
	return measured
}

func TestATrialThatIsToStopEndsWithTheMetricsItHas(t *testing.T) {
	t.Parallel()
	a := trial(t, nil)
	a.Trial.StopPath = filepath.Join(t.TempDir(), "stop")
	var messages []module.Message
	err := builtin.Run(t.Context(), "dnn", a, func(m module.Message) {
		messages = append(messages, m)
		if m.Step == 15 {
			if err := os.WriteFile(a.Trial.StopPath, nil, 0o600); err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if last := messages[len(messages)-1]; last.Step != 15 || last.Metrics["accuracy"] == 0 {
		t.Errorf("it ended with %+v", last)
	}
}

func TestATrialThatDivergesSaysSo(t *testing.T) {
	t.Parallel()
	a := trial(t, map[string]any{"optimizer": "sgd", "learning_rate": 1e6})
	err := builtin.Run(t.Context(), "dnn", a, func(module.Message) {})
	if !errors.Is(err, train.ErrNotFinite) || !strings.Contains(err.Error(), "a smaller learning rate may help") {
		t.Errorf("error is %v", err)
	}
}

func TestATrialNeedsEvaluationData(t *testing.T) {
	t.Parallel()
	a := trial(t, nil)
	a.EvalFiles = nil
	err := builtin.Run(t.Context(), "dnn", a, func(module.Message) {})
	if bad, ok := errors.AsType[*module.Error](err); !ok || bad.Kind != module.KindInput {
		t.Errorf("error is %v", err)
	}
}

// Trials of different batch sizes are evaluated on the same rows.
func TestEvaluationBatchesAreNotWhatASearchVaries(t *testing.T) {
	t.Parallel()
	for _, size := range []float64{5, 40} {
		a := trial(t, map[string]any{"batch_size": size})
		a.EvalSteps = new(2)
		if rows := done(t, run(t, "dnn", a))["example_count"]; math.Abs(rows-40) > 0 {
			t.Errorf("batches of %v: measured on %v rows", size, rows)
		}
	}
}

// The cost of a trial besides its steps: in a process that has run a trial of the study, the data
// are known.
func BenchmarkTrial(b *testing.B) {
	a := trial(b, map[string]any{"units": 16.0})
	a.TrainSteps = new(20)
	serve := func() {
		if err := module.Serve(b.Context(), strings.NewReader(line(b, a)), discard{}, builtin.Module()); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			serve()
		}
	})
	b.Run("next", func(b *testing.B) {
		lines := strings.NewReader(strings.Repeat(line(b, a), b.N))
		if err := module.Serve(b.Context(), lines, discard{}, builtin.Module()); err != nil {
			b.Fatal(err)
		}
	})
}
