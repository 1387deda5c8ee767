package builtin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/data/tfrecord"
	"github.com/stoker-ml/stoker/compute/train"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/builtin"
)

// folded returns a trial of the penguin search that is judged by folds.
func folded(t testing.TB, transformed bool, v module.Validation) module.Assignment {
	t.Helper()
	a := assignment(t, "penguin", transformed, penguin())
	a.Call, a.ServingModelDir, a.ModelRunDir, a.EvalFiles = module.CallTrial, "", "", nil
	a.Trial, a.Validation = &module.Trial{Study: "c0ffee", ID: "0003"}, &v
	a.TrainSteps = new(30)
	return a
}

// records returns the records of files in their order.
func records(t testing.TB, patterns []string) (all [][]byte) {
	t.Helper()
	files, err := example.Files(patterns...)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		r, err := tfrecord.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for {
			record, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, slices.Clone(record))
		}
	}
	return all
}

// written writes some records to files of some records each, and returns their pattern.
func written(t testing.TB, all [][]byte, each int, in func(row int64) bool) string {
	t.Helper()
	dir := t.TempDir()
	var chosen [][]byte
	for row, record := range all {
		if in(int64(row)) {
			chosen = append(chosen, record)
		}
	}
	for n := 0; len(chosen) > 0; n++ {
		w, err := tfrecord.Create(filepath.Join(dir, fmt.Sprintf("data-%05d", n)))
		if err != nil {
			t.Fatal(err)
		}
		for _, record := range chosen[:min(each, len(chosen))] {
			err = errors.Join(err, w.Append(record))
		}
		if err := errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		chosen = chosen[min(each, len(chosen)):]
	}
	return filepath.Join(dir, "*")
}

func all(int64) bool { return true }

// byHand trains the models of all folds as trainings of their own, on files with the rows of each,
// and returns their metrics.
func byHand(t testing.TB, a module.Assignment) (metrics []map[string]float64) {
	t.Helper()
	rows := records(t, a.TrainFiles)
	folds := train.Folds{Count: a.Validation.Folds, Forward: a.Validation.Order == "forward", Seed: a.Validation.Seed, Rows: int64(len(rows))}
	for fold := range folds.Count {
		one := a
		one.Call, one.Trial, one.Validation, one.Hyperparameters = module.CallTrain, nil, nil, a.Hyperparameters
		one.TrainFiles = []string{written(t, rows, 100, folds.Trains(fold))}
		one.EvalFiles = []string{written(t, rows, 100, folds.Judges(fold))}
		one.WorkingDir, one.ServingModelDir = t.TempDir(), filepath.Join(t.TempDir(), "model")
		metrics = append(metrics, done(t, run(t, "dnn", one)))
	}
	return metrics
}

// mean is the mean over folds; its standard deviation is between them.
func mean(folds []map[string]float64, metric string) (mean, deviation float64) {
	for _, metrics := range folds {
		mean += metrics[metric]
	}
	mean /= float64(len(folds))
	for _, metrics := range folds {
		deviation += math.Pow(metrics[metric]-mean, 2)
	}
	return mean, math.Sqrt(deviation / float64(len(folds)-1))
}

// A trial's metrics are those of trainings on files with the rows of each fold alone: raw features
// are scaled by these rows, too.
func TestATrialOfFoldsIsTheMeanOfTheirTrainings(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		transformed bool
		validation  module.Validation
		config      map[string]any
	}{
		"transformed":     {true, module.Validation{Folds: 3, Seed: 5}, nil},
		"raw":             {false, module.Validation{Folds: 4, Seed: 6}, map[string]any{"class_weights": "balanced", "dropout": 0.2}},
		"forward":         {false, module.Validation{Folds: 3, Order: "forward"}, map[string]any{"num_classes": 3}},
		"by epochs alone": {true, module.Validation{Folds: 2, Seed: 7}, map[string]any{"epochs": 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := folded(t, test.transformed, test.validation)
			maps.Copy(a.CustomConfig, test.config)
			if test.config["epochs"] != nil {
				a.TrainSteps = nil
			}
			want, got := byHand(t, a), done(t, run(t, "dnn", a))
			for _, metric := range []string{"loss", "accuracy"} {
				mean, deviation := mean(want, metric)
				if got[metric] != mean || math.Abs(got[metric+"_std"]-deviation) > 1e-12*deviation || deviation == 0 {
					t.Errorf("%s is %v ± %v, by hand %v ± %v", metric, got[metric], got[metric+"_std"], mean, deviation)
				}
			}
			rows := 0.0
			for _, metrics := range want {
				rows += metrics["example_count"]
			}
			if got["example_count"] != rows {
				t.Errorf("judged by %v rows, want %v", got["example_count"], rows)
			}
		})
	}
}

// steps returns the metrics reported at each step; only the last report of a step counts.
func steps(messages []module.Message) map[int]map[string]float64 {
	reported := map[int]map[string]float64{}
	for _, m := range messages {
		if m.Type == module.MessageProgress && m.Metrics != nil {
			reported[m.Step] = m.Metrics
		}
	}
	return reported
}

func TestATrialReportsTheMeanAfterEachFold(t *testing.T) {
	t.Parallel()
	a := folded(t, true, module.Validation{Folds: 3})
	messages := run(t, "dnn", a)
	folds, reported := byHand(t, a), steps(messages)
	if len(reported) != 3 || reported[1]["accuracy"] != folds[0]["accuracy"] {
		t.Fatalf("reported %v", reported)
	}
	if _, known := reported[1]["accuracy_std"]; known {
		t.Error("one fold has a standard deviation")
	}
	for n := 2; n <= 3; n++ {
		if want, _ := mean(folds[:n], "accuracy"); reported[n]["accuracy"] != want {
			t.Errorf("after %d folds the accuracy is %v, want %v", n, reported[n]["accuracy"], want)
		}
	}
	if diff := cmp.Diff(reported[3], done(t, messages)); diff != "" {
		t.Errorf("last reported - result +\n%s", diff)
	}
	for _, m := range messages {
		if m.Step > 3 || m.Type == module.MessageProgress && m.Steps != 3 {
			t.Errorf("a step is no fold: %+v", m)
		}
	}
}

// The same rows in other files, and in another process, have the same folds.
func TestFoldsDoNotDependOnFiles(t *testing.T) {
	t.Parallel()
	a := folded(t, false, module.Validation{Folds: 3, Seed: 9})
	want := done(t, run(t, "dnn", a))
	rows := records(t, a.TrainFiles)
	for _, each := range []int{7, 100} {
		again := folded(t, false, module.Validation{Folds: 3, Seed: 9})
		again.TrainFiles = []string{written(t, rows, each, all)}
		if diff := cmp.Diff(want, done(t, run(t, "dnn", again))); diff != "" {
			t.Errorf("files of %d rows: want - got +\n%s", each, diff)
		}
	}
	other := folded(t, false, module.Validation{Folds: 3, Seed: 10})
	if cmp.Equal(want, done(t, run(t, "dnn", other))) {
		t.Error("another seed gives the same folds")
	}
}

// Rows behind those that a fold is judged by, and the order of the split's files, change nothing
// for it: neither weights nor scales nor metrics.
func TestAForwardFoldKnowsNoLaterRow(t *testing.T) {
	t.Parallel()
	a := folded(t, false, module.Validation{Folds: 3, Order: "forward"})
	a.CustomConfig["num_classes"] = 3
	rows := records(t, a.TrainFiles)
	want := steps(run(t, "dnn", a))
	first := untried(a) // the first part of four trains, the second judges
	first.Call, first.Validation, first.WorkingDir, first.ServingModelDir = module.CallTrain, nil, t.TempDir(), filepath.Join(t.TempDir(), "model")
	first.TrainFiles = []string{written(t, rows[:len(rows)/4], 100, all)}
	first.EvalFiles = []string{written(t, rows[len(rows)/4:len(rows)*2/4], 100, all)}
	if diff := cmp.Diff(done(t, run(t, "dnn", first)), want[1]); diff != "" {
		t.Errorf("first fold: by hand - got +\n%s", diff)
	}
	spoilt := slices.Clone(rows)
	for row := len(rows) * 3 / 4; row < len(rows); row++ { // the last part: it judges the last fold
		spoilt[row] = rows[0]
	}
	again := folded(t, false, module.Validation{Folds: 3, Order: "forward"})
	again.CustomConfig["num_classes"] = 3
	again.TrainFiles = []string{written(t, spoilt, 50, all)}
	got := steps(run(t, "dnn", again))
	if diff := cmp.Diff(want[2], got[2]); diff != "" {
		t.Errorf("two folds: want - got +\n%s", diff)
	}
	if cmp.Equal(want[3], got[3]) {
		t.Error("the last fold isn't judged by the last rows")
	}
}

// A promoted trial trains only the folds that its parent has not, and both together are one trial.
func TestATrialOfFoldsContinuesItsParent(t *testing.T) {
	t.Parallel()
	want := steps(run(t, "dnn", folded(t, true, module.Validation{Folds: 4})))
	parent := folded(t, true, module.Validation{Folds: 4})
	parent.Trial = &module.Trial{Study: "c0ffee", ID: "0004", Epochs: 2, Keep: true}
	first := steps(run(t, "dnn", parent))
	child := folded(t, true, module.Validation{Folds: 4})
	child.WorkingDir = parent.WorkingDir
	child.Trial = &module.Trial{Study: "c0ffee", ID: "0009", Parent: "0004", From: 2, Epochs: 4}
	messages := run(t, "dnn", child)
	both := maps.Clone(first)
	maps.Copy(both, steps(messages))
	if diff := cmp.Diff(want, both); diff != "" || len(first) != 2 || len(steps(messages)) != 2 {
		t.Errorf("%d and %d steps; one trial - and two +\n%s", len(first), len(steps(messages)), diff)
	}
	if diff := cmp.Diff(want[4], done(t, messages)); diff != "" {
		t.Errorf("result of one trial - and of two +\n%s", diff)
	}
	for _, m := range messages {
		if m.Type == module.MessageProgress && m.Step < 2 {
			t.Fatalf("fold %d of the parent is repeated: %+v", m.Step+1, m)
		}
	}
	// The parent's state is gone: its folds are trained again, and not reported as the child's.
	lost := folded(t, true, module.Validation{Folds: 4})
	lost.Trial = child.Trial
	if again := run(t, "dnn", lost); !cmp.Equal(steps(messages), steps(again)) || !cmp.Equal(want[4], done(t, again)) {
		t.Errorf("without its parent's state the trial reports %v", steps(again))
	}
}

// A trial is interrupted at each of its checkpoints, in a fold or between two, and when it has
// taken the first steps of a fold, and resumes there.
func TestATrialOfFoldsResumesInItsFold(t *testing.T) {
	t.Parallel()
	three := func(every int) module.Assignment {
		a := folded(t, true, module.Validation{Folds: 3})
		a.TrainSteps, a.CustomConfig["checkpoint_every"], a.CustomConfig["checkpoint_seconds"] = new(60), every, 0
		return a
	}
	want := run(t, "dnn", three(0))
	for every, interruptions := range map[int]int{25: 9, 0: 3} {
		for n := range interruptions {
			t.Run(fmt.Sprintf("every %d, interruption %d", every, n), func(t *testing.T) {
				t.Parallel()
				a := three(every)
				ctx, cancel := context.WithCancelCause(t.Context())
				preempted := errors.New("preempted")
				seen, kept := 0, 0
				err := builtin.Run(ctx, "dnn", a, func(m module.Message) {
					if m.Type == module.MessageCheckpoint {
						kept = m.Step
					}
					// The first report of each fold is after ten steps.
					if every > 0 && m.Type != module.MessageCheckpoint || every == 0 && (m.Type != module.MessageProgress || m.Metrics != nil || m.Step < seen) {
						return
					}
					if seen++; seen == n+1 {
						cancel(preempted)
					}
				})
				if last := every > 0 && n == interruptions-1; !errors.Is(err, preempted) && !last {
					t.Fatal(err)
				}
				again := run(t, "dnn", a)
				if diff := cmp.Diff(steps(want), steps(again)); diff != "" {
					t.Errorf("undisturbed - and resumed +\n%s", diff)
				}
				if diff := cmp.Diff(done(t, want), done(t, again)); diff != "" {
					t.Errorf("result undisturbed - and resumed +\n%s", diff)
				}
				for _, m := range again {
					if m.Type == module.MessageProgress && m.Metrics == nil && m.Step < kept {
						t.Fatalf("%d folds were kept, and fold %d is trained again", kept, m.Step+1)
					}
				}
				if fold := n / 3; kept < fold {
					t.Errorf("%d folds were kept, want %d", kept, fold)
				}
			})
		}
	}
}

// The checkpoint of a fold that was being trained is used: nothing before it is trained again.
func TestAFoldResumesFromItsCheckpoint(t *testing.T) {
	t.Parallel()
	a := folded(t, true, module.Validation{Folds: 2})
	a.TrainSteps = new(200)
	ctx, cancel := context.WithCancelCause(t.Context())
	preempted := errors.New("preempted")
	err := builtin.Run(ctx, "dnn", a, func(m module.Message) {
		if m.Step == 1 && m.Metrics == nil {
			cancel(preempted)
		}
	})
	if !errors.Is(err, preempted) {
		t.Fatal(err)
	}
	checkpoints, err := filepath.Glob(filepath.Join(a.WorkingDir, "fold-2", "checkpoints", "step-*.ckpt"))
	if err != nil || len(checkpoints) != 1 {
		t.Fatalf("checkpoints %v, %v", checkpoints, err)
	}
	// Of another training it would be refused, so it is read.
	if err := os.Rename(filepath.Join(a.WorkingDir, "fold-2"), filepath.Join(a.WorkingDir, "fold-1")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(a.WorkingDir, "folds.json")); err != nil {
		t.Fatal(err)
	}
	a.CustomConfig["seed"] = 77
	if err := builtin.Run(t.Context(), "dnn", a, func(module.Message) {}); err == nil || !strings.Contains(err.Error(), "fold 1 of 2: ") || !strings.Contains(err.Error(), "is of another training") {
		t.Errorf("error is %v", err)
	}
}

func TestATrialOfFoldsThatIsToStopEndsWithThoseThatAreDone(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]struct {
		step int
		done int
	}{"after its second fold": {2, 2}, "in its first": {0, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := folded(t, true, module.Validation{Folds: 4})
			a.TrainSteps = new(500)
			a.Trial.StopPath = filepath.Join(t.TempDir(), "stop")
			var messages []module.Message
			err := builtin.Run(t.Context(), "dnn", a, func(m module.Message) {
				messages = append(messages, m)
				if m.Step == at.step && (m.Metrics != nil || at.step == 0) {
					if err := os.WriteFile(a.Trial.StopPath, nil, 0o600); err != nil {
						t.Error(err)
					}
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			last := messages[len(messages)-1]
			if want := steps(messages)[at.done]; last.Step != at.done || !cmp.Equal(want, last.Metrics) {
				t.Errorf("it ended with %+v, want %v", last, want)
			}
		})
	}
}

// Between two folds no training reports a checkpoint.
func TestATrialOfFoldsThatIsInterruptedBetweenTwoKeepsThem(t *testing.T) {
	t.Parallel()
	a := folded(t, true, module.Validation{Folds: 3})
	ctx, cancel := context.WithCancelCause(t.Context())
	preempted, kept := errors.New("preempted"), 0
	err := builtin.Run(ctx, "dnn", a, func(m module.Message) {
		if m.Type == module.MessageCheckpoint {
			kept = m.Step
		} else if m.Step == 1 && m.Metrics != nil {
			cancel(preempted)
		}
	})
	if !errors.Is(err, preempted) || kept != 1 {
		t.Errorf("the checkpoint has %d folds, %v", kept, err)
	}
}

// What was left by a trial of other hyperparameters is not this trial's.
func TestFoldsOfAnotherTrialAreNotUsed(t *testing.T) {
	t.Parallel()
	a := folded(t, true, module.Validation{Folds: 2})
	want := done(t, run(t, "dnn", a))
	text, err := json.Marshal(map[string]any{"trial": "0001", "folds": []map[string]float64{{"accuracy": 1}, {"accuracy": 1}}})
	if err == nil {
		err = os.WriteFile(filepath.Join(a.WorkingDir, "folds.json"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, done(t, run(t, "dnn", a))); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
}

func TestFoldsThatCannotBeAreRefusedByName(t *testing.T) {
	t.Parallel()
	short := folded(t, true, module.Validation{})
	rows := records(t, short.TrainFiles)
	short.TrainFiles = []string{written(t, rows[:5], 5, all)}
	for want, v := range map[string]module.Validation{
		"tuner.study.validation.folds: expected 2 to 20, got 1":           {Folds: 1},
		"tuner.study.validation.folds: expected 2 to 20, got 21":          {Folds: 21},
		`tuner.study.validation.order: expected forward, got "backward"`:  {Folds: 3, Order: "backward"},
		"the train splits: 6 folds need at least 6 rows, and there are 5": {Folds: 6},
		"the train splits: 5 folds need at least 6 rows, and there are 5": {Folds: 5, Order: "forward"},
	} {
		a := short
		a.Validation = &v
		trialErr := builtin.Run(t.Context(), "dnn", a, func(module.Message) {})
		_, studyErr := study(t, "dnn", untried(a))
		for call, err := range map[string]error{"trial": trialErr, "tune": studyErr} {
			bad, input := errors.AsType[*module.Error](err)
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "tuner.study.validation") {
				t.Errorf("%s: error is %v, want %s", call, err, want)
			} else if call == "trial" && strings.Contains(want, "rows") != (input && bad.Kind == module.KindInput) {
				t.Errorf("%s: error is of kind %+v: %v", call, bad, err)
			}
		}
	}
}

func untried(a module.Assignment) module.Assignment {
	a.Trial = nil
	return a
}

// A study with validation needs no evaluation data.
func TestAStudyOfFoldsReadsNoEvaluationFiles(t *testing.T) {
	t.Parallel()
	a := untried(folded(t, true, module.Validation{Folds: 5}))
	config, err := study(t, "dnn", a)
	if err != nil || config.Objectives[0].Name != "accuracy" {
		t.Errorf("%+v, %v", config, err)
	}
	a = folded(t, true, module.Validation{Folds: 2})
	a.EvalFiles = []string{filepath.Join(t.TempDir(), "nothing-*")}
	a.Trial.Study = "" // its files are known otherwise
	run(t, "dnn", a)
}

func TestMetricsOfFoldsAreThoseThatAreReported(t *testing.T) {
	t.Parallel()
	a := folded(t, true, module.Validation{Folds: 2})
	a.CustomConfig["task"] = "classification"
	got := slices.Sorted(maps.Keys(done(t, run(t, "dnn", a))))
	if want := slices.Sorted(slices.Values(builtin.ValidationMetrics(a.CustomConfig))); !slices.Equal(got, want) {
		t.Errorf("reported %v, ValidationMetrics are %v", got, want)
	}
}

// Rows are sorted by class: the models of the first folds see fewer classes than they are judged
// by. They have outputs for all.
func TestModelsOfAllFoldsHaveTheSameClasses(t *testing.T) {
	t.Parallel()
	a := folded(t, false, module.Validation{Folds: 2, Order: "forward"})
	rows := records(t, a.TrainFiles)
	spec := example.Spec{{Name: "species", Kind: example.Int64, Shape: []int{1}}}
	decoder, err := example.NewDecoder(spec)
	if err != nil {
		t.Fatal(err)
	}
	species := func(record []byte) int64 {
		b := example.NewBatch(spec)
		if err := decoder.Append(b, record); err != nil {
			t.Fatal(err)
		}
		return b.Column("species").Ints[0]
	}
	slices.SortStableFunc(rows, func(a, b []byte) int { return int(species(a) - species(b)) })
	a.TrainFiles = []string{written(t, rows, 100, all)}
	if got := done(t, run(t, "dnn", a)); got["example_count"] == 0 || got["loss"] == 0 {
		t.Errorf("metrics are %v", got)
	}
}
