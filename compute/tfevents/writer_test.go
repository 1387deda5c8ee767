package tfevents_test

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/tfevents"
)

// ticking returns a clock that advances by a second with each call.
func ticking() func() time.Time {
	now := time.Unix(1_800_000_000, 0)
	return func() time.Time { now = now.Add(time.Second); return now }
}

func open(t testing.TB, dir string, from int64) *tfevents.Writer {
	t.Helper()
	w, err := tfevents.Open(dir, tfevents.Options{From: from, Now: ticking(), Host: "host", PID: 7})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() }) // the second time, if the test has closed it
	return w
}

// ok fails the test at the first error.
func ok(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func load(t testing.TB, path string) *tfevents.Log {
	t.Helper()
	l, err := tfevents.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func steps(s *tfevents.Series) (steps []int64) {
	for _, p := range s.Points {
		steps = append(steps, p.Step)
	}
	return steps
}

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := open(t, dir, 0)
	weights := []float32{-1, 0, 0.5, 1}
	session := tfevents.Session{Group: "g", Values: map[string]any{
		"rate": 0.5, "units": 8, "zero": 0, "name": "adam", "on": true, "off": false,
	}}
	ok(t, w.Scalar(10, "loss", 0.25), w.Scalar(20, "loss", math.NaN()), w.Histogram(10, "weights", weights), w.Text(0, "config", "*a*\nb"),
		w.StartSession(session), w.EndSession(tfevents.StatusSuccess), w.Experiment(tfevents.Experiment{
			Description: "d",
			HParams: []tfevents.HParam{
				{Name: "rate", Range: &tfevents.Range{Min: 0, Max: 1}}, {Name: "name", Values: []any{"adam", "sgd"}}, {Name: "free"},
			},
			Metrics: []tfevents.Metric{{Run: "validation", Tag: "epoch_loss", Name: "loss"}, {Tag: "loss"}},
		}), w.Close())

	run := load(t, dir).Run(".")
	loss := run.Tag("loss")
	if len(loss.Points) != 2 || loss.Points[0].Scalar != 0.25 || loss.Points[0].Step != 10 || !math.IsNaN(loss.Points[1].Scalar) {
		t.Errorf("loss: %+v", loss.Points)
	}
	if diff := cmp.Diff(tfevents.Buckets(weights, 30), run.Tag("weights").Last().Buckets); diff != "" {
		t.Errorf("histogram: written - read +\n%s", diff)
	}
	if diff := cmp.Diff([]string{"*a*\nb"}, run.Tag("config").Last().Text); diff != "" {
		t.Errorf("text: %s", diff)
	}
	want := map[string]any{"rate": 0.5, "units": 8.0, "zero": 0.0, "name": "adam", "on": true, "off": false}
	if diff := cmp.Diff(want, run.Session.Values); diff != "" || run.Session.Group != "g" {
		t.Errorf("session of group %q: %s", run.Session.Group, diff)
	}
	if run.End.Status != tfevents.StatusSuccess || run.End.Time.IsZero() {
		t.Errorf("end: %+v", run.End)
	}
	e := run.Experiment
	epochLoss := tfevents.Metric{Run: "validation", Tag: "epoch_loss", Name: "loss"}
	if e.Description != "d" || len(e.HParams) != 3 || len(e.Metrics) != 2 || e.Metrics[0] != epochLoss ||
		*e.HParams[0].Range != (tfevents.Range{Min: 0, Max: 1}) || !cmp.Equal(e.HParams[1].Values, []any{"adam", "sgd"}) {
		t.Errorf("experiment: %+v", e)
	}
}

func TestTheSameCallsGiveTheSameBytes(t *testing.T) {
	t.Parallel()
	write := func() []byte {
		w := open(t, t.TempDir(), 0)
		values := map[string]any{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}
		ok(t, w.Scalar(1, "loss", 0.5), w.StartSession(tfevents.Session{Values: values}), w.Close())
		content, err := os.ReadFile(w.Name())
		ok(t, err)
		return content
	}
	if !bytes.Equal(write(), write()) {
		t.Error("two files differ")
	}
}

// The second writer's clock is behind, and its host's name sorts before the first one's.
func TestATrainingGoesOnInANewFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := open(t, dir, 0)
	ok(t, w.Scalar(1, "loss", 1), w.Scalar(2, "loss", 2), w.Scalar(3, "loss", 3), w.Scalar(3, "gone", 3), w.Close())
	late := func() time.Time { return time.Unix(1_700_000_000, 0) }
	w, err := tfevents.Open(dir, tfevents.Options{From: 3, Now: late, Host: "a", PID: 1})
	ok(t, err)
	ok(t, w.Scalar(3, "loss", 30), w.Scalar(4, "loss", 40), w.Close())

	run := load(t, dir).Run(".")
	if got := steps(run.Tag("loss")); !cmp.Equal(got, []int64{1, 2, 3, 4}) || run.Tag("loss").Points[2].Scalar != 30 {
		t.Errorf("steps %v of %v, expected each once, from 3 on as the second file has them", got, run.Tag("loss").Points)
	}
	if run.Files != 2 || run.Tag("gone") != nil {
		t.Errorf("%d files, a tag that was void: %v", run.Files, run.Tag("gone"))
	}
}

func TestAFileThatIsCutShortCountsUpToThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := open(t, dir, 0)
	ok(t, w.Scalar(1, "loss", 1), w.Scalar(2, "loss", 2), w.Close())
	content, err := os.ReadFile(w.Name())
	ok(t, err, os.WriteFile(w.Name(), content[:len(content)-3], 0o644))
	run := load(t, dir).Run(".")
	if got := steps(run.Tag("loss")); !run.Cut || !cmp.Equal(got, []int64{1}) {
		t.Errorf("steps %v, cut: %v; expected step 1 of a cut file", got, run.Cut)
	}
}

func TestALongSeriesIsThinnedOutAndKeepsItsLast(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := open(t, dir, 0)
	const all = 25_007
	for step := range int64(all) {
		ok(t, w.Scalar(step, "loss", float64(step)))
	}
	ok(t, w.Close())
	s := load(t, dir).Run(".").Tag("loss")
	if s.Count != all || s.Every != 4 || s.Last().Step != all-1 {
		t.Fatalf("%d points, every %d., the last of step %d", s.Count, s.Every, s.Last().Step)
	}
	for i, p := range s.Points[:len(s.Points)-1] {
		if p.Step != int64(4*i) {
			t.Fatalf("point %d is of step %d, expected every 4th", i, p.Step)
		}
	}
}

func TestRunsAreNamedByTheirFolders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"", "train", "trials/1"} {
		w := open(t, filepath.Join(dir, name), 0)
		ok(t, w.Scalar(1, "loss", 1), w.Close())
	}
	ok(t, os.WriteFile(filepath.Join(dir, "metrics.json"), []byte("{}"), 0o644))
	var names []string
	for _, r := range load(t, dir).Runs() {
		names = append(names, r.Name)
	}
	if diff := cmp.Diff([]string{".", "train", "trials/1"}, names); diff != "" {
		t.Error(diff)
	}
}
