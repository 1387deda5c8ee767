package report_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/tfevents"
	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/report"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

var update = flag.Bool("update", false, "write testdata anew")

// searched is the space of study.
var searched = space.Space{
	{Name: "rate", Kind: space.Float, Min: 1e-4, Max: 0.1, Sampling: space.Log},
	{Name: "model", Kind: space.Choice, Choices: []any{"mlp", "cnn"}},
	{Name: "depth", Kind: space.Int, Min: 1, Max: 3, Conditions: []space.Condition{{Parent: "model", Values: []any{"mlp"}}}},
	{Name: "norm", Kind: space.Boolean},
}

// study returns one with a trial of each outcome: completed, stopped early, promoted, failed,
// infeasible, one that violates a constraint, and one that runs.
func study(t testing.TB) *tune.Study {
	t.Helper()
	ceiling := 10.0
	s, now := &tune.Study{}, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	apply := func(e tune.Entry) {
		now = now.Add(1500 * time.Millisecond)
		e.Stored = now
		if err := s.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	apply(tune.Entry{Begun: &tune.Begun{Config: tune.Config{
		Space: searched, Objectives: []tune.Objective{{Name: "val_loss", Direction: tune.Min}}, MaxTrials: 20, Retries: 0, MaxFailures: 9,
		Algorithm: tune.Algorithm{Name: tune.Hyperband, MaxEpochs: 9}, Constraints: []tune.Constraint{{Name: "size", Max: &ceiling}},
	}}})
	try := func(ended tune.Ended, suggestion tune.Suggestion) {
		id, owner := s.NextID(), tune.Owner{Job: "job", Attempt: "1"}
		apply(tune.Entry{Started: []tune.Started{{Trial: id, Suggestion: &suggestion, Owner: owner}}})
		if ended.Status != "" {
			ended.Trial, ended.Owner = id, owner
			apply(tune.Entry{Ended: &ended})
		}
	}
	curve := func(values ...float64) map[string][]tune.Point {
		var points []tune.Point
		for i, v := range values {
			points = append(points, tune.Point{Step: i + 1, Value: v})
		}
		return map[string][]tune.Point{"val_loss": points}
	}
	mlp := space.Values{{Name: "rate", Of: 0.001}, {Name: "model", Of: "mlp"}, {Name: "depth", Of: int64(2)}, {Name: "norm", Of: true}}
	cnn := space.Values{{Name: "rate", Of: 0.1}, {Name: "model", Of: "cnn"}, {Name: "norm", Of: false}}
	try(tune.Ended{Status: tune.Completed, Curves: curve(0.5, 0.25, 0.375), Metrics: map[string]float64{"val_loss": 0.375, "size": 3}, Step: 2},
		tune.Suggestion{Values: mlp, Epochs: 3, Bracket: 1})
	try(tune.Ended{Status: tune.Completed, Curves: curve(0.75), Stopped: 1, Metrics: map[string]float64{"val_loss": 0.75, "size": 4}, Step: 1},
		tune.Suggestion{Values: cnn, Epochs: 3, Bracket: 1})
	try(tune.Ended{Status: tune.Failed, Curves: curve(0.03125), Message: "boom,\n\"twice\""}, tune.Suggestion{Values: cnn.With("rate", 0.05), Epochs: 3, Bracket: 1})
	try(tune.Ended{Status: tune.Infeasible, Message: "too deep"}, tune.Suggestion{Values: mlp.With("depth", int64(3)), Epochs: 3, Bracket: 1})
	try(tune.Ended{Status: tune.Completed, Metrics: map[string]float64{"val_loss": 0.125, "size": 3}},
		tune.Suggestion{Values: mlp.With("tuner/trial_id", "0000"), Parent: "0000", From: 3, Epochs: 9, Bracket: 1, Round: 1})
	try(tune.Ended{Status: tune.Completed, Metrics: map[string]float64{"val_loss": 0.0625, "size": 30}}, tune.Suggestion{Values: cnn.With("rate", 0.01)})
	try(tune.Ended{}, tune.Suggestion{Values: cnn.With("rate", 0.02)})
	return s
}

func TestAStudyAsCSVAndJSON(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := report.Write(dir, study(t), 0); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{report.CSVFile, report.JSONFile} {
		got := read(t, filepath.Join(dir, name))
		golden := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(read(t, golden), got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	var again report.Report
	if err := json.Unmarshal([]byte(read(t, filepath.Join(dir, report.JSONFile))), &again); err != nil || len(again.Trials) != 7 {
		t.Errorf("%d trials, %v", len(again.Trials), err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestEventFilesHoldASessionForEachTrial(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := report.TensorBoard(dir, study(t), 0); err != nil {
		t.Fatal(err)
	}
	log, err := tfevents.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(log.Runs()); got != 1+7 {
		t.Fatalf("%d runs, expected the experiment and 7 sessions", got)
	}
	first := log.Run("0000")
	if score := first.Tag("score").Last(); score.Scalar != 0.25 || score.Step != 3 || len(first.Tag("val_loss").Points) != 3 {
		t.Errorf("score %v at step %d, curve %v", score.Scalar, score.Step, first.Tag("val_loss").Points)
	}
	for id, status := range map[string]tfevents.Status{"0000": tfevents.StatusSuccess, "0002": tfevents.StatusFailure} {
		if end := log.Run(id).End; end == nil || end.Status != status {
			t.Errorf("%s ended as %v, expected %v", id, end, status)
		}
	}
	if running := log.Run("0006"); running.End != nil || running.Session == nil {
		t.Errorf("session of a running trial: %v, ended %v", running.Session, running.End)
	}
}

func TestOfManyTrialsTheBestHaveSessions(t *testing.T) {
	t.Parallel()
	one, two := t.TempDir(), t.TempDir()
	for _, dir := range []string{one, two} {
		if err := report.TensorBoard(dir, study(t), 3); err != nil {
			t.Fatal(err)
		}
	}
	names, again := tree(t, one), tree(t, two)
	if diff := cmp.Diff(names, again); diff != "" {
		t.Errorf("the same study made other files: %s", diff)
	}
	var sessions []string
	for name := range names {
		if before, _, nested := strings.Cut(name, "/"); nested {
			sessions = append(sessions, before)
		}
	}
	want := map[string]bool{"0004": true, "0000": true, "0001": true}
	for _, name := range sessions {
		if !want[name] || len(sessions) != 3 {
			t.Errorf("sessions of %v, expected the three best", sessions)
		}
	}
}

// tree returns all files below a directory, by name.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	top, _ := filepath.Glob(filepath.Join(dir, "events*"))
	for _, path := range append(paths, top...) {
		name, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(name)] = read(t, path)
	}
	return files
}

func TestAStudyThatHasNotBegunIsEmpty(t *testing.T) {
	t.Parallel()
	if r := report.Of(&tune.Study{}); len(r.Best) != 0 || len(r.Trials) != 0 || r.Counts != (report.Counts{}) {
		t.Errorf("%+v", r)
	}
}

func TestATrialHasTheSameWordsEverywhere(t *testing.T) {
	t.Parallel()
	over := report.Report{Finished: &tune.Finished{}}
	for want, got := range map[string]string{
		"completed":          over.InWords(report.Row{Status: tune.Completed}),
		"stopped at 100":     over.InWords(report.Row{Status: tune.Completed, Stopped: 100}),
		"breaks constraints": over.InWords(report.Row{Status: tune.Completed, Breaks: true}),
		"failed":             over.InWords(report.Row{Status: tune.Failed}),
		"cut short":          over.InWords(report.Row{Status: tune.Invalid}),
		"to be retried":      report.Report{}.InWords(report.Row{Status: tune.Invalid}),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
