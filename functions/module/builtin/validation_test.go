package builtin_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/builtin"
)

// validated returns the accuracy on evaluation rows by step, as reported during a training.
func validated(messages []module.Message) map[int]float64 {
	reported := map[int]float64{}
	for _, m := range messages {
		if accuracy, ok := m.Metrics["val_accuracy"]; ok {
			reported[m.Step] = accuracy
		}
	}
	return reported
}

// The last point of a validation curve is the result.
func TestATrainingHasAValidationCurve(t *testing.T) {
	t.Parallel()
	a := assignment(t, "penguin", true, penguin())
	messages := run(t, "dnn", a)
	want := map[int]float64{}
	for _, p := range points(t, a.ModelRunDir)["validation evaluation_accuracy_vs_iterations"] {
		want[int(p[0])] = p[1]
	}
	if result := done(t, messages)["accuracy"]; len(want) != 10 || float32(want[100]) != float32(result) {
		t.Errorf("the run log has %v, the result is %v", want, result)
	}
	delete(want, 100)
	reported := validated(messages)
	for step, accuracy := range reported {
		reported[step] = float64(float32(accuracy))
	}
	if diff := cmp.Diff(want, reported); diff != "" {
		t.Errorf("run log - reported +\n%s", diff)
	}
	for _, m := range messages {
		if m.Metrics["val_loss"] != 0 && m.Metrics["loss"] == 0 {
			t.Errorf("the loss of step %d is not reported with its validation: %v", m.Step, m.Metrics)
		}
	}
}

// Evaluations during a training change neither the model nor its metrics, whether layers have a
// random state and moving averages or not.
func TestValidationDoesNotDisturbATraining(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]map[string]any{
		"dense": {}, "dropout": {"dropout": 0.3, "batch_normalization": true}, "threads": {"threads": 3, "hidden_units": []any{64, 64}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var digests []string
			var metrics []map[string]float64
			for _, every := range []int{1000, 3, 0} {
				config := penguin()
				maps.Copy(config, more)
				config["evaluate_every"] = every
				a := assignment(t, "penguin", true, config)
				messages := run(t, "dnn", a)
				if n := len(validated(messages)); n != map[int]int{1000: 0, 3: 33, 0: 9}[every] {
					t.Errorf("evaluate_every %d: %d evaluations during the training", every, n)
				}
				digests, metrics = append(digests, weightsDigest(t, a.ServingModelDir)), append(metrics, done(t, messages))
			}
			for i := range digests[1:] {
				if digests[i+1] != digests[0] {
					t.Error("the weights are other ones")
				}
				if diff := cmp.Diff(metrics[0], metrics[i+1]); diff != "" {
					t.Errorf("metrics without - and with evaluations +\n%s", diff)
				}
			}
		})
	}
}

// The training is interrupted in its evaluation after step 40, whose checkpoint then has none.
func TestAnInterruptedEvaluationIsRepeated(t *testing.T) {
	t.Parallel()
	whole := assignment(t, "penguin", true, penguin())
	run(t, "dnn", whole)
	for name, at := range map[string]func(module.Message) bool{
		"before":   func(m module.Message) bool { return m.Step == 40 && m.Metrics["val_loss"] == 0 },
		"after":    func(m module.Message) bool { return m.Step == 40 && m.Metrics["val_loss"] != 0 },
		"any time": func(m module.Message) bool { return m.Step >= 55 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := assignment(t, "penguin", true, penguin())
			ctx, cancel := context.WithCancelCause(t.Context())
			preempted := errors.New("preempted")
			err := builtin.Run(ctx, "dnn", a, func(m module.Message) {
				if m.Type == module.MessageProgress && at(m) {
					cancel(preempted)
				}
			})
			if err != nil && !errors.Is(err, preempted) {
				t.Fatal(err)
			}
			// The report of that step may have been left out, soon after another one.
			if err == nil {
				return
			}
			if err := os.RemoveAll(a.ModelRunDir); err != nil {
				t.Fatal(err)
			}
			run(t, "dnn", a)
			if diff := cmp.Diff(points(t, whole.ModelRunDir), points(t, a.ModelRunDir)); diff != "" {
				t.Errorf("log: undisturbed - resumed +\n%s", diff)
			}
		})
	}
}

// A bad evaluation row fails the training before it costs anything.
func TestABadEvaluationRowIsFoundBeforeTheTraining(t *testing.T) {
	t.Parallel()
	a := assignment(t, "penguin", true, penguin())
	bad := filepath.Join(t.TempDir(), "bad")
	if err := os.WriteFile(bad, []byte(strings.Repeat("not a record", 9)), 0o600); err != nil {
		t.Fatal(err)
	}
	a.EvalFiles = []string{bad}
	steps := 0
	err := builtin.Run(t.Context(), "dnn", a, func(m module.Message) { steps = max(steps, m.Step) })
	if err == nil || steps > 0 || !strings.Contains(err.Error(), "evaluate: ") {
		t.Errorf("after %d steps: %v", steps, err)
	}
}
