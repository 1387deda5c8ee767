package builtin_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/tfevents"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/builtin"
)

// points returns the curves of a log folder: step and value by run and tag.
func points(t testing.TB, dir string) map[string][][2]float64 {
	t.Helper()
	log, err := tfevents.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][][2]float64{}
	for _, r := range log.Runs() {
		for _, s := range r.Series() {
			for _, p := range s.Points {
				all[r.Name+" "+s.Tag] = append(all[r.Name+" "+s.Tag], [2]float64{float64(p.Step), p.Scalar})
			}
		}
	}
	return all
}

func TestATrainingLeavesALogForTensorBoard(t *testing.T) {
	t.Parallel()
	config := penguin()
	config["histograms"] = 50
	a := assignment(t, "penguin", true, config)
	a.Hyperparameters = map[string]any{"values": map[string]any{"learning_rate": 0.02}}
	metrics := done(t, run(t, "dnn", a))
	got := points(t, a.ModelRunDir)
	if n := len(got["train batch_loss"]); n != 10 {
		t.Errorf("batch_loss has %d points after 100 steps, expected one every 10", n)
	}
	// 100 steps of 20 rows of 234: 8.5 epochs.
	if n := len(got["train epoch_loss"]); n != 9 {
		t.Errorf("epoch_loss has %d points, expected 9", n)
	}
	want := [][2]float64{{8, float64(float32(metrics["accuracy"]))}}
	if diff := cmp.Diff(want, got["validation epoch_accuracy"]); diff != "" {
		t.Errorf("epoch_accuracy: want - got +\n%s", diff)
	}
	if rate := got["train epoch_learning_rate"]; len(rate) != 9 || float32(rate[0][1]) != 0.02 {
		t.Errorf("epoch_learning_rate: %v", rate)
	}
	if n := len(got["train dense_1/kernel/histogram"]); n != 2 {
		t.Errorf("dense_1/kernel has %d histograms, expected those of steps 50 and 100", n)
	}
	log, err := tfevents.Load(a.ModelRunDir)
	if err != nil {
		t.Fatal(err)
	}
	session := log.Run(".").Session.Values
	if session["learning_rate"] != 0.02 || session["optimizer"] != "adam" || session["hidden_units"] != "[8]" || session["module"] != "builtin:dnn" {
		t.Errorf("session: %v", session)
	}
	if text := log.Run(".").Tag("config").Last().Text; !strings.Contains(text[0], `"label": "species"`) {
		t.Errorf("config: %q", text)
	}
}

// The second attempt is on another worker: it has only the working folder of the checkpoint.
func TestALogContinuesWithItsTraining(t *testing.T) {
	t.Parallel()
	config := penguin()
	config["checkpoint_every"], config["histograms"] = 35, 50
	whole := assignment(t, "penguin", true, config)
	run(t, "dnn", whole)

	a := assignment(t, "penguin", true, config)
	preempted := errors.New("preempted")
	ctx, cancel := context.WithCancelCause(t.Context())
	err := builtin.Run(ctx, "dnn", a, func(m module.Message) {
		if m.Type == module.MessageCheckpoint {
			cancel(preempted)
		}
	})
	if !errors.Is(err, preempted) {
		t.Fatalf("error is %v", err)
	}
	if err := os.RemoveAll(a.ModelRunDir); err != nil {
		t.Fatal(err)
	}
	moved := a.WorkingDir + "-elsewhere"
	if err := os.Rename(a.WorkingDir, moved); err != nil {
		t.Fatal(err)
	}
	a.WorkingDir = moved
	run(t, "dnn", a)
	if diff := cmp.Diff(points(t, whole.ModelRunDir), points(t, a.ModelRunDir)); diff != "" {
		t.Errorf("log: undisturbed - resumed +\n%s", diff)
	}
}

func TestALogThatCanNotBeWrittenEndsAndTheTrainingDoesNot(t *testing.T) {
	t.Parallel()
	a := assignment(t, "penguin", true, penguin())
	if err := os.MkdirAll(a.ModelRunDir, 0o755); err != nil {
		t.Fatal(err)
	}
	// In place of a folder.
	if err := os.WriteFile(filepath.Join(a.ModelRunDir, "train"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	messages := run(t, "dnn", a)
	if !slices.ContainsFunc(messages, func(m module.Message) bool { return m.Type == module.MessageDone }) {
		t.Errorf("messages: %+v", messages)
	}
}
