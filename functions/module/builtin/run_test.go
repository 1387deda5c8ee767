package builtin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/nn/plan"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/builtin"
)

func TestPenguinIsLearnt(t *testing.T) {
	t.Parallel()
	for name, transformed := range map[string]bool{"raw": false, "transformed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := assignment(t, "penguin", transformed, penguin())
			metrics := done(t, run(t, "dnn", a))
			t.Logf("metrics: %v", metrics)
			if metrics["accuracy"] < 0.85 {
				t.Errorf("accuracy is %v, expected at least 0.85", metrics["accuracy"])
			}
			text, err := os.ReadFile(filepath.Join(a.ModelRunDir, "metrics.json"))
			if err != nil {
				t.Fatal(err)
			}
			var written map[string]float64
			if err := json.Unmarshal(text, &written); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(metrics, written); diff != "" {
				t.Errorf("metrics.json: reported - written +\n%s", diff)
			}
			confusionOfPenguins(t, a.ModelRunDir, metrics)
			if _, err := os.Stat(filepath.Join(a.ServingModelDir, "saved_model.pb")); err != nil {
				t.Error(err)
			}
		})
	}
}

// confusionOfPenguins returns the matrix of three named species, whose diagonal gives the accuracy.
func confusionOfPenguins(t *testing.T, dir string, metrics map[string]float64) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "confusion_matrix.json"))
	if err != nil {
		t.Fatal(err)
	}
	var matrix struct {
		Classes []string
		Counts  [][]float64
	}
	if err := json.Unmarshal(text, &matrix); err != nil {
		t.Fatal(err)
	}
	right, all := 0.0, 0.0
	for i, row := range matrix.Counts {
		for _, count := range row {
			all += count
		}
		right += row[i]
	}
	if len(matrix.Classes) != 3 || all != metrics["example_count"] || right/all != metrics["accuracy"] {
		t.Errorf("confusion_matrix.json is %s, metrics are %v", text, metrics)
	}
}

// If the logits of different rows drift far apart, a softmax that confuses rows ends in NaN: here
// after 5956 steps.
func TestALongTrainingStaysFinite(t *testing.T) {
	t.Parallel()
	steps := 10000
	if testing.Short() {
		steps = 1000
	}
	for name, transformed := range map[string]bool{"raw": false, "transformed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := assignment(t, "penguin", transformed, penguin())
			a.TrainSteps = &steps
			metrics := done(t, run(t, "dnn", a))
			t.Logf("metrics: %v", metrics)
			if metrics["accuracy"] < 0.85 {
				t.Errorf("accuracy is %v, expected at least 0.85", metrics["accuracy"])
			}
		})
	}
}

// Each label of taxi implies another task.
func TestTheTaskFollowsFromTheLabel(t *testing.T) {
	t.Parallel()
	for label, c := range map[string]struct {
		transformed bool
		task        string
		metrics     []string
	}{
		"tips": {false, "regression", []string{"example_count", "loss", "mae", "rmse"}}, // a float
		// Strings with a domain.
		"payment_type": {false, "classification", []string{"accuracy", "example_count", "loss"}},
		// Integers 0 and 1.
		"tips_xf": {true, "binary", []string{"accuracy", "auc", "example_count", "keras_auc", "loss", "precision", "recall"}},
		// company_xf: integers with a domain
		"company": {true, "classification", []string{"accuracy", "example_count", "loss"}},
	} {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			a := assignment(t, "taxi", c.transformed, map[string]any{"label": label})
			metrics := done(t, run(t, "dnn", a))
			var names []string
			for name := range metrics {
				names = append(names, name)
			}
			if diff := cmp.Diff(c.metrics, sorted(names)); diff != "" {
				t.Errorf("metrics: want - got +\n%s", diff)
			}
			for _, name := range names {
				if !slices.Contains(builtin.Metrics(map[string]any{"label": label}), name) {
					t.Errorf("an objective of that name is refused: %s", name)
				}
			}
			if diff := cmp.Diff(append(slices.Clone(c.metrics), "train_loss"), sorted(builtin.Metrics(map[string]any{"label": label, "task": c.task}))); diff != "" {
				t.Errorf("metrics of task %s: trained - listed +\n%s", c.task, diff)
			}
			t.Logf("metrics: %v", metrics)
		})
	}
}

func TestTheSameAssignmentGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	train := func(seed int64) map[string]string {
		a := assignment(t, "penguin", true, penguin())
		a.Seed = seed
		run(t, "dnn", a)
		return files(t, a.ServingModelDir)
	}
	first := train(1)
	if diff := cmp.Diff(first, train(1)); diff != "" {
		t.Errorf("seed 1 twice:\n%s", diff)
	}
	if cmp.Equal(first, train(2)) {
		t.Error("seeds 1 and 2 gave the same model")
	}
}

func TestAStoppedTrainingGoesOnFromItsCheckpoint(t *testing.T) {
	t.Parallel()
	whole := assignment(t, "penguin", true, penguin())
	run(t, "dnn", whole)

	config := penguin()
	config["checkpoint_every"] = 30
	a := assignment(t, "penguin", true, config)
	preempted := errors.New("preempted")
	ctx, cancel := context.WithCancelCause(t.Context())
	var saved []int
	err := builtin.Run(ctx, "dnn", a, func(m module.Message) {
		if m.Type == module.MessageCheckpoint {
			saved = append(saved, m.Step)
			cancel(preempted)
		}
	})
	if !errors.Is(err, preempted) {
		t.Fatalf("error is %v", err)
	}
	if _, err := os.Stat(a.ServingModelDir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a stopped training left a model: %v", err)
	}
	for _, m := range run(t, "dnn", a) {
		if _, stepped := m.Metrics["loss"]; m.Type == module.MessageProgress && m.Phase == "training" && (m.Step < 30 || stepped && m.Step == 30) {
			t.Errorf("after the checkpoint of step 30, step %d was reported", m.Step)
		}
	}
	if diff := cmp.Diff([]int{30}, saved); diff != "" {
		t.Errorf("checkpoints: want - got +\n%s", diff)
	}
	if diff := cmp.Diff(files(t, whole.ServingModelDir), files(t, a.ServingModelDir)); diff != "" {
		t.Errorf("models: whole - resumed +\n%s", diff)
	}
}

func TestCheckpointsAreWrittenByTime(t *testing.T) {
	t.Parallel()
	for seconds, want := range map[float64]int{0: 0, 1e-9: 100, 3600: 0} {
		config := penguin()
		config["checkpoint_seconds"] = seconds
		saved := 0
		for _, m := range run(t, "dnn", assignment(t, "penguin", true, config)) {
			if m.Type == module.MessageCheckpoint {
				saved++
			}
		}
		if saved != want {
			t.Errorf("every %v s: %d checkpoints in 100 steps, want %d", seconds, saved, want)
		}
	}
}

func TestLabelKeyIsASynonymOfLabel(t *testing.T) {
	t.Parallel()
	a := assignment(t, "penguin", true, map[string]any{"label_key": "species_xf"})
	done(t, run(t, "linear", a))
}

// The module is served as the worker does it: an assignment as a line of JSON, messages as lines of
// JSON.
func TestModuleIsServed(t *testing.T) {
	t.Parallel()
	line, err := json.Marshal(assignment(t, "penguin", true, penguin()))
	if err != nil {
		t.Fatal(err)
	}
	var progress bytes.Buffer
	if err := module.Serve(t.Context(), bytes.NewReader(append(line, '\n')), &progress, builtin.Module()); err != nil {
		t.Fatal(err)
	}
	var messages []module.Message
	for line := range strings.Lines(progress.String()) {
		var m module.Message
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		messages = append(messages, m)
	}
	if settings := settingsOf(t, messages); messages[0].Type != module.MessageSettings || settings["batch_size"] != 20.0 {
		t.Errorf("the training uses %v", settings)
	}
	if first := messages[1]; first.Type != module.MessageProgress || first.Phase != "training" || first.Metrics["loss"] == 0 {
		t.Errorf("first message is %+v", first)
	}
	if metrics := done(t, messages); metrics["accuracy"] < 0.85 {
		t.Errorf("metrics are %v", metrics)
	}
}

func TestAModuleTrainsOnTheMachinesItIsGiven(t *testing.T) {
	t.Parallel()
	line, err := json.Marshal(assignment(t, "penguin", true, penguin()))
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	machines := func(p *plan.Plan) (plan.Machine, error) {
		made++
		return plan.NewMachine(p, nil), nil
	}
	if err := module.Serve(t.Context(), bytes.NewReader(append(line, '\n')), io.Discard, builtin.ModuleOn(machines)); err != nil {
		t.Fatal(err)
	}
	if made != 1 {
		t.Errorf("%d machines were made, expected 1", made)
	}
}

func TestEpochsStandInForSteps(t *testing.T) {
	t.Parallel()
	config := penguin()
	config["epochs"] = 2
	a := assignment(t, "penguin", true, config)
	a.TrainSteps = nil
	messages := run(t, "linear", without(a, "hidden_units"))
	// 234 rows twice, in batches of 20: 23.4.
	if last := messages[len(messages)-1]; last.Step != 24 {
		t.Errorf("took %d steps, expected 24", last.Step)
	}
}

func TestHyperparametersOverride(t *testing.T) {
	t.Parallel()
	a := assignment(t, "penguin", true, penguin())
	a.Hyperparameters = map[string]any{"values": map[string]any{
		"learning_rate": 0.02, "num_layers": 3.0, "units": 5.0, "batch_size": 10, "optimizer": "momentum", "activation": "tanh", "color": "red",
	}}
	run(t, "dnn", a)
	graph, err := os.ReadFile(filepath.Join(a.ServingModelDir, "saved_model.pb"))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"dense_3/kernel": true, "dense_4/kernel": false, "dense_1/Tanh": true, "dense_1/Relu": false} {
		if strings.Contains(string(graph), text) != want {
			t.Errorf("model names %s: %v, expected %v", text, !want, want)
		}
	}
}

func ExampleRun() {
	dir, err := os.MkdirTemp("", "penguin")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	steps := 100
	a := module.Assignment{
		TrainFiles:      []string{filepath.Join(examples, "penguin/examples/Split-train/*")},
		EvalFiles:       []string{filepath.Join(examples, "penguin/examples/Split-eval/*")},
		SchemaPath:      filepath.Join(examples, "penguin/schema/schema.pbtxt"),
		TrainSteps:      &steps,
		CustomConfig:    map[string]any{"label": "species", "batch_size": 20},
		ServingModelDir: filepath.Join(dir, "model"),
	}
	err = builtin.Run(context.Background(), "dnn", a, func(m module.Message) {
		if m.Type == module.MessageDone {
			fmt.Println("accuracy above 0.85:", m.Metrics["accuracy"] > 0.85)
		}
	})
	if err != nil {
		panic(err)
	}
	// Output: accuracy above 0.85: true
}
