package study

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/runs/query"
	"github.com/stoker-ml/stoker/functions/runs/studies"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
)

// bigStudy has this many trials, all completed but the last, which runs as job "b".
func bigStudy(t *testing.T, trials int) studies.State {
	t.Helper()
	s := studies.State{Name: events.Study{Pipeline: "penguin", ID: strings.Repeat("ab", 32)}}
	now := time.Unix(1e9, 0)
	apply := func(e tune.Entry) {
		now = now.Add(time.Second)
		e.Stored = now
		if err := s.Study.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	apply(tune.Entry{Begun: &tune.Begun{Config: tune.Config{
		Space: space.Space{{Name: "x", Kind: space.Float, Max: 1}}, Algorithm: tune.Algorithm{Name: tune.Random}, MaxTrials: trials,
		Objectives: []tune.Objective{{Name: "loss", Direction: tune.Min}},
	}}})
	for i := range trials {
		id, owner := s.Study.NextID(), tune.Owner{Job: "b", Attempt: "1"}
		apply(tune.Entry{Started: []tune.Started{{Trial: id, Owner: owner, Suggestion: &tune.Suggestion{
			Values: space.Values{{Name: "x", Of: float64(i) / 100}, {Name: "tuner/epochs", Of: int64(3)}}, From: 1, Epochs: 3,
		}}}})
		if i < trials-1 {
			apply(tune.Entry{Ended: &tune.Ended{Trial: id, Owner: owner, Status: tune.Completed, Metrics: map[string]float64{"loss": 1 + float64(i)}}})
		}
	}
	return s
}

func TestALiveStudyIsDrawnOverItself(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	live := &liveStudy{out: terminal.NewStream(&out), size: func() (int, int, bool) { return 50, 20, true }}
	d := detailOf(bigStudy(t, 30))
	d.steps = map[string]events.Progress{"0029": {Phase: "trial 0029", Step: 2, Steps: 9, Metrics: map[string]float64{"loss": 0.125}}}
	live.show(d)
	first := out.String()
	if lines := strings.Count(first, "\n"); lines > 19 || lines < 15 {
		t.Errorf("%d lines on a screen of 20:\n%s", lines, first)
	}
	for _, want := range []string{"best    0000  1  x 0\n", "0029   running 2/9  (0.125)  1-3     0s    x 0.", "30 of 30, 1 running, 29 completed"} {
		if !strings.Contains(first, want) {
			t.Errorf("no %q in\n%s", want, first)
		}
	}
	for _, line := range strings.Split(first, "\n") {
		if len([]rune(line)) > 49 {
			t.Errorf("a line wider than the screen: %q", line)
		}
	}
	live.show(d)
	if again := strings.TrimPrefix(out.String(), first); again != fmt.Sprintf("\x1b[%dA\x1b[J", strings.Count(first, "\n"))+first {
		t.Errorf("drawn again as %q", again)
	}
}

func TestATableSaysWhyATrialFailedAndWhatWasPromoted(t *testing.T) {
	t.Parallel()
	d := detailOf(bigStudy(t, 3))
	d.Trials[0].Status, d.Trials[0].Score, d.Trials[0].Message = tune.Failed, nil, "loss is NaN\nTraceback"
	d.Trials[1].Parent, d.MaxTrials = "0000", 2
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	d.table(w, 0)
	_ = w.Flush()
	for _, want := range []string{"x 0  (loss is NaN)\n", "trials  2 of 2 + 1 promoted, 1 running"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestAStudyIsShownWithItsFolds(t *testing.T) {
	t.Parallel()
	s := bigStudy(t, 2)
	if got := detailOf(s).search(); got != "random, min loss" {
		t.Errorf("search %s", got)
	}
	for want, v := range map[string]tune.Validation{"random, min loss, 5 folds": {Folds: 5}, "random, min loss, 5 folds, forward": {Folds: 5, Order: tune.Forward}} {
		s.Study.Config.Validation = v
		if got := detailOf(s).search(); got != want {
			t.Errorf("search %s, want %s", got, want)
		}
	}
}

func TestNothingRunsOfAStudyThatIsOver(t *testing.T) {
	t.Parallel()
	d := detailOf(bigStudy(t, 2))
	d.Trials[1].Status, d.Finished, d.State = tune.Invalid, &tune.Finished{Why: tune.Cancelled}, studyFinished
	if d.status(d.Trials[1]) != "cut short" || d.counts() != "2 of 2, 1 cut short, 1 completed" {
		t.Errorf("%s; %s", d.status(d.Trials[1]), d.counts())
	}
	if d.State = studyRunning; d.counts() != "2 of 2, 1 running, 1 completed" {
		t.Error(d.counts())
	}
}

func TestAReportKeepsTheMetricsThatALaterOneLeavesOut(t *testing.T) {
	t.Parallel()
	first := events.Progress{Job: "a", Attempt: "1", Step: 5, Metrics: map[string]float64{"accuracy": 0.5, "loss": 2}}
	second := events.Progress{Job: "a", Attempt: "1", Step: 6, Metrics: map[string]float64{"loss": 1}}
	if got := after(first, second); got.Step != 6 || got.Metrics["accuracy"] != 0.5 || got.Metrics["loss"] != 1 || second.Metrics["accuracy"] != 0 {
		t.Errorf("%+v", got)
	}
	second.Attempt = "2"
	if got := after(first, second); len(got.Metrics) != 1 {
		t.Errorf("another attempt has %v", got.Metrics)
	}
}

func TestOnlyItsOwnJobReportsATrial(t *testing.T) {
	t.Parallel()
	s := bigStudy(t, 2).Study
	for _, test := range []struct {
		job, phase string
		is         bool
	}{{"b", "trial 0001", true}, {"b", "trial 0000", false}, {"a", "trial 0001", false}, {"b", "tuning", false}} {
		if _, is := trialOf(s, events.Progress{Job: test.job, Phase: test.phase}); is != test.is {
			t.Errorf("%+v: %v", test, is)
		}
	}
}

func TestAStudyWithABrokenLogIsListed(t *testing.T) {
	t.Parallel()
	bus := bustest.NewMemory(0)
	if _, err := bus.AppendStudy(t.Context(), events.Study{Pipeline: "penguin", ID: strings.Repeat("ab", 32)}, []byte(`{"of": "a later release"}`), 0); err != nil {
		t.Fatal(err)
	}
	lines, err := listStudies(t.Context(), bus)
	if err != nil || len(lines) != 1 || lines[0].State != studyUnclear || !strings.Contains(lines[0].Error, `unknown field "of"`) {
		t.Errorf("%+v, %v", lines, err)
	}
	if _, err := query.Study(t.Context(), bus, "penguin/monday"); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("the study of a run that nobody knows: %v", err)
	}
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	app.Listing[studyLine]{Items: lines, Columns: studyColumns}.Table(w, false)
	if w.Flush(); !strings.Contains(out.String(), "abababababab  penguin   unclear") {
		t.Error(out.String())
	}
}
