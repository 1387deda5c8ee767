package tfevents_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/tfevents"
)

// curve has the points of a log directory: run, tag, step and value.
type curve struct {
	Run, Tag string
	Steps    []int64
	Values   []float64
}

func curves(t testing.TB, dir string) (all []curve) {
	t.Helper()
	for _, r := range load(t, dir).Runs() {
		for _, s := range r.Series() {
			c := curve{Run: r.Name, Tag: s.Tag, Steps: steps(s)}
			for _, p := range s.Points {
				c.Values = append(c.Values, p.Scalar)
			}
			all = append(all, c)
		}
	}
	return all
}

// training uses batches of 20 rows out of 50: an epoch ends within step 3, at the end of step 5,
// within step 8 ...
func training(dir, keep string, pid int) *tfevents.Training {
	return tfevents.NewTraining(tfevents.TrainingOptions{
		Dir: dir, Keep: keep, EpochRows: 50, BatchSize: 20, LearningRate: func() float64 { return 0.5 },
		Histograms: 7, Weights: func(yield func(string, []float32)) { yield("kernel", []float32{1, 2}) },
		Session: tfevents.Session{Values: map[string]any{"rate": 0.5}}, Config: "rate: 0.5", Now: ticking(), Host: "h", PID: pid,
	})
}

// loss returns the loss of a step.
func loss(step int64) float64 { return float64(step % 16) }

func take(t testing.TB, l *tfevents.Training, from, to int64) {
	t.Helper()
	for step := from; step <= to; step++ {
		ok(t, l.Step(step, loss(step)))
	}
}

func end(t testing.TB, l *tfevents.Training, step int64) {
	t.Helper()
	ok(t, l.Evaluated(step, map[string]float64{"accuracy": 0.75}), l.Finish(step, map[string]float64{"accuracy": 0.75}), l.Close())
}

func TestATrainingHasCurvesOverStepsAndEpochs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := training(dir, "", 1)
	take(t, l, 1, 14)
	end(t, l, 14)
	want := []curve{
		{".", "config", []int64{0}, []float64{0}},
		{".", "evaluation_accuracy", []int64{14}, []float64{0.75}},
		{"train", "batch_learning_rate", []int64{10}, []float64{0.5}},
		// Means of 1 to 10 and 11 to 14.
		{"train", "batch_loss", []int64{10, 14}, []float64{5.5, 12.5}},
		// The last rows of steps 1 and 2, 3 to 5, 6 and 7, 8 to 10, 11 and 12, 13 and 14 are in one
		// epoch each.
		{"train", "epoch_learning_rate", []int64{0, 1, 2, 3, 4, 5}, []float64{0.5, 0.5, 0.5, 0.5, 0.5, 0.5}},
		{"train", "epoch_loss", []int64{0, 1, 2, 3, 4, 5}, []float64{1.5, 4, 6.5, 9, 11.5, 13.5}},
		{"train", "kernel/histogram", []int64{7, 14}, []float64{0, 0}},
		{"validation", "epoch_accuracy", []int64{5}, []float64{0.75}},
		{"validation", "evaluation_accuracy_vs_iterations", []int64{14}, []float64{0.75}},
	}
	if diff := cmp.Diff(want, curves(t, dir)); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
	root := load(t, dir).Run(".")
	if root.Session.Values["rate"] != 0.5 || root.End.Status != tfevents.StatusSuccess || root.Experiment.Metrics[0].Tag != "evaluation_accuracy" {
		t.Errorf("session %+v, end %+v, experiment %+v", root.Session, root.End, root.Experiment)
	}
}

// A worker is lost after step 17; its last checkpoints are those of steps 11 and 12. The next
// worker has only what was kept. It is lost too, and the third finds that the checkpoint of step 21
// is damaged.
func TestATrainingThatGoesOnElsewhereHasTheWholeLog(t *testing.T) {
	t.Parallel()
	whole := t.TempDir()
	l := training(whole, "", 1)
	take(t, l, 1, 40)
	end(t, l, 40)

	keep := t.TempDir()
	first := training(t.TempDir(), keep, 1)
	take(t, first, 1, 11)
	ok(t, first.Checkpoint(11))
	take(t, first, 12, 12)
	ok(t, first.Checkpoint(12))
	take(t, first, 13, 17)
	ok(t, first.Close())
	second := training(t.TempDir(), keep, 2)
	take(t, second, 13, 15)
	ok(t, second.Checkpoint(15))
	take(t, second, 16, 21)
	ok(t, second.Checkpoint(21), second.Close())
	dir := t.TempDir()
	third := training(dir, keep, 3)
	take(t, third, 16, 30)
	ok(t, third.Checkpoint(30))
	take(t, third, 31, 40)
	end(t, third, 40)

	if diff := cmp.Diff(curves(t, whole), curves(t, dir)); diff != "" {
		t.Errorf("undisturbed - resumed +\n%s", diff)
	}
	if diff := cmp.Diff(load(t, whole).Run(".").Session, load(t, dir).Run(".").Session); diff != "" {
		t.Errorf("session: undisturbed - resumed +\n%s", diff)
	}
	if run := load(t, dir).Run("train"); run.Files != 3 {
		t.Errorf("%d files of train, expected one an attempt", run.Files)
	}
}

func TestALogThatWasNotKeptBeginsWhereTheTrainingGoesOn(t *testing.T) {
	t.Parallel()
	for name, states := range map[string]string{
		"none": "", "no JSON": "{", "a later step's": `[{"step": 23}]`,
		"files lost": `[{"step": 20, "files": {"train/tfevents": 9}}]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, keep := t.TempDir(), t.TempDir()
			if states != "" {
				ok(t, os.WriteFile(filepath.Join(keep, "states.json"), []byte(states), 0o644))
			}
			l := training(dir, keep, 1)
			take(t, l, 21, 40)
			end(t, l, 40)
			log := load(t, dir)
			if got := steps(log.Run("train").Tag("batch_loss")); !cmp.Equal(got, []int64{30, 40}) || log.Run(".").Session == nil {
				t.Errorf("batch_loss has steps %v, session %+v", got, log.Run(".").Session)
			}
		})
	}
}

// Only the checkpoint of step 12 has a log, and the training resumes from 20: only the part between
// them is missing.
func TestALogWithoutItsLastPartHasAGap(t *testing.T) {
	t.Parallel()
	dir, keep := t.TempDir(), t.TempDir()
	l := training(t.TempDir(), keep, 1)
	take(t, l, 1, 12)
	ok(t, l.Checkpoint(12), l.Close())
	l = training(dir, keep, 2)
	take(t, l, 21, 40)
	end(t, l, 40)
	log := load(t, dir)
	if got := steps(log.Run("train").Tag("batch_loss")); !cmp.Equal(got, []int64{10, 30, 40}) || log.Run(".").Session == nil {
		t.Errorf("batch_loss has steps %v, session %+v", got, log.Run(".").Session)
	}
}

// A training that resumes evaluates the step of its checkpoint again, which may be in the log.
func TestAValidationIsLoggedOnce(t *testing.T) {
	t.Parallel()
	keep, dir := t.TempDir(), t.TempDir()
	at := func(l *tfevents.Training, step int64) {
		ok(t, l.Validated(step, map[string]float64{"loss": float64(step)}))
	}
	first := training(t.TempDir(), keep, 1)
	take(t, first, 1, 12)
	at(first, 12)
	ok(t, first.Checkpoint(12), first.Close())
	second := training(dir, keep, 2)
	at(second, 12)
	take(t, second, 13, 20)
	at(second, 20)
	end(t, second, 20)
	var steps []int64
	for _, c := range curves(t, dir) {
		if c.Run == "validation" && c.Tag == "evaluation_loss_vs_iterations" {
			steps = c.Steps
		} else if c.Run == "validation" && c.Tag == "epoch_loss" {
			t.Error("a validation is logged as that of an epoch")
		}
	}
	if diff := cmp.Diff([]int64{12, 20}, steps); diff != "" {
		t.Errorf("steps: want - got +\n%s", diff)
	}
}

// The training is interrupted after every second step, 200 times, and every fifth checkpoint is
// damaged, so that the one before it counts: the log is that of an uninterrupted training, in few
// files.
func TestManyInterruptionsDoNotMakeManyFiles(t *testing.T) {
	t.Parallel()
	whole := t.TempDir()
	l := training(whole, "", 1)
	take(t, l, 1, 320)
	end(t, l, 320)

	keep, dir, from := t.TempDir(), "", int64(1)
	for attempt := 0; from <= 320; attempt++ {
		dir = t.TempDir()
		l := training(dir, keep, 1+attempt)
		take(t, l, from, from+1)
		ok(t, l.Checkpoint(from+1))
		if attempt%5 != 4 {
			from += 2
		}
		if from > 320 {
			end(t, l, 320)
		}
		ok(t, l.Close())
	}
	if diff := cmp.Diff(curves(t, whole), curves(t, dir)); diff != "" {
		t.Errorf("undisturbed - interrupted +\n%s", diff)
	}
	for _, folder := range []string{dir, keep} {
		files := 0
		for _, run := range load(t, folder).Runs() {
			files += run.Files
		}
		if files > 60 { // 17 and one for each of the last checkpoints, in two runs
			t.Errorf("%d files", files)
		}
	}
}

// A copy of the directory that takes many checkpoints has the log of the checkpoint with which it
// began.
func TestASlowCopyHasTheLogOfItsCheckpoint(t *testing.T) {
	t.Parallel()
	whole := t.TempDir()
	l := training(whole, "", 1)
	take(t, l, 1, 10)
	end(t, l, 10)

	keep := t.TempDir()
	l = training(t.TempDir(), keep, 1)
	for step := int64(1); step <= 100; step++ {
		take(t, l, step, step)
		ok(t, l.Checkpoint(step))
	}
	ok(t, l.Close())
	dir := t.TempDir()
	l = training(dir, keep, 2)
	take(t, l, 6, 10)
	end(t, l, 10)
	if diff := cmp.Diff(curves(t, whole), curves(t, dir)); diff != "" {
		t.Errorf("undisturbed - interrupted +\n%s", diff)
	}
}

// A training that begins anew in the directories of an older one does not keep its log.
func TestANewTrainingBeginsANewLog(t *testing.T) {
	t.Parallel()
	dir, keep := t.TempDir(), t.TempDir()
	old := training(dir, keep, 1)
	take(t, old, 1, 30)
	ok(t, old.Checkpoint(30), old.Close())
	l := training(dir, keep, 2)
	take(t, l, 1, 10)
	ok(t, l.Checkpoint(10), l.Close())
	for _, folder := range []string{dir, keep} {
		run := load(t, folder).Run("train")
		if got := steps(run.Tag("batch_loss")); !cmp.Equal(got, []int64{10}) || run.Files != 1 {
			t.Errorf("batch_loss has steps %v in %d files, expected those of the new training", got, run.Files)
		}
	}
}

// The size of the log in a checkpoint grows with the logarithm of the steps: 10 times as many add
// about log2(10) * 1024 points to a curve.
func TestALogGrowsWithTheLogarithmOfTheSteps(t *testing.T) {
	t.Parallel()
	size := func(all int64) (size int64) {
		dir, keep := t.TempDir(), t.TempDir()
		l := training(dir, keep, 1)
		for step := int64(1); step <= all; step++ {
			ok(t, l.Step(step, 1))
		}
		ok(t, l.Checkpoint(all), l.Close())
		ok(t, filepath.Walk(keep, func(path string, info os.FileInfo, err error) error {
			if err == nil && info.Mode().IsRegular() {
				size += info.Size()
				if info.Size() > 1<<20 {
					t.Errorf("%s has %d bytes: it is linked for a checkpoint, and would change", path, info.Size())
				}
			}
			return err
		}))
		return size
	}
	small, large := size(100_000), size(1_000_000)
	t.Logf("%d bytes after 100,000 steps, %d after 1,000,000", small, large)
	if large > 3*small || large > 4<<20 {
		t.Errorf("%d bytes after 100,000 steps, %d after 1,000,000", small, large)
	}
}
