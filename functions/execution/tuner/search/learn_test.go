package search

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/compute/tune/suggest"
)

// units is a search for a number of units and a rate that an older search did not have.
func units() tune.Config {
	return tune.Config{
		Space: space.Space{
			{Name: "units", Kind: space.Int, Min: 8, Max: 64, Step: 8, Sampling: space.Linear},
			{Name: "act", Kind: space.Choice, Choices: []any{"relu", "tanh"}},
			{Name: "rate", Kind: space.Float, Min: 0.1, Max: 1, Sampling: space.Log, Default: 0.5},
		},
		Objectives: []tune.Objective{{Name: "acc", Direction: tune.Max}, {Name: "size", Direction: tune.Min}},
		Algorithm:  tune.Algorithm{Name: tune.Random},
	}
}

// leave writes files into a folder.
func leave(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// older returns the log of a study with one completed trial and one that failed.
func older(t *testing.T) string {
	t.Helper()
	return lines(t, olderLog())
}

func olderLog() []tune.Entry {
	c := units()
	c.Space = c.Space[:2]
	values := space.Values{{Name: "units", Of: int64(16)}, {Name: "act", Of: "tanh"}}
	me := tune.Owner{Job: "j", Attempt: "a"}
	return []tune.Entry{
		{Begun: &tune.Begun{Config: c}, Started: []tune.Started{{Trial: "0000", Suggestion: &tune.Suggestion{Values: values}, Owner: me}}},
		{Ended: &tune.Ended{
			Trial: "0000", Owner: me, Status: tune.Completed, Metrics: map[string]float64{"acc": 0.7, "size": 9, "loss": 2},
			Curves: map[string][]tune.Point{"acc": {{Step: 1, Value: 0.75}, {Step: 2, Value: 0.7}}},
		}},
		{Started: []tune.Started{{Trial: "0001", Suggestion: &tune.Suggestion{Values: space.Values{{Name: "units", Of: int64(8)}, {Name: "act", Of: "relu"}}}, Owner: me}}},
		{Ended: &tune.Ended{Trial: "0001", Owner: me, Status: tune.Failed, Message: "boom"}},
	}
}

const olderResults = `[{"trial_id": "3", "score": 0.9, "units": 24, "act": "relu", "tuner/epochs": 3}, {"trial_id": "1", "score": 0.8, "units": 128, "act": "relu"},
	{"trial_id": "2", "score": 0.7, "units": 8, "act": "gelu"}, {"trial_id": "0", "score": 0.5, "units": 64, "act": "tanh", "rate": 1}]`

func TestASearchLearnsFromWhatIsThere(t *testing.T) {
	t.Parallel()
	point := func(units int64, act string, rate float64) space.Values {
		return space.Values{{Name: "units", Of: units}, {Name: "act", Of: act}, {Name: "rate", Of: rate}}
	}
	best := map[string]string{bestFile: `{"space": [], "values": {"units": 40, "act": "tanh"}}`}
	for name, tc := range map[string]struct {
		files   map[string]string
		earlier []tune.Earlier
		points  []space.Values
	}{
		"a study of ours, with what this one judges trials by": {
			files:   map[string]string{"study/log.jsonl": older(t), resultsFile: olderResults},
			earlier: []tune.Earlier{{Values: point(16, "tanh", 0.5), Metrics: map[string]float64{"acc": 0.75, "size": 9}}},
		},
		"TFX's results, but for what is no point of the space": {
			files: map[string]string{resultsFile: olderResults},
			earlier: []tune.Earlier{
				{Values: point(24, "relu", 0.5), Metrics: map[string]float64{"acc": 0.9}},
				{Values: point(64, "tanh", 1), Metrics: map[string]float64{"acc": 0.5}},
			},
		},
		"the best alone":                {files: best, points: []space.Values{point(40, "tanh", 0.5)}},
		"a best that lies outside":      {files: map[string]string{bestFile: `{"space": [], "values": {"units": 4}}`}},
		"a first search learns nothing": {},
	} {
		c := units()
		err := learnFrom(leave(t, tc.files), OneStudy, &c)
		if err != nil && tc.files != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tc.earlier, c.Earlier); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(tc.points, c.Points); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A study that is learned from knows older ones: all of them are numbered, the newest first.
func TestASearchLearnsFromAllStudiesBefore(t *testing.T) {
	t.Parallel()
	point := func(units int64) space.Values {
		return space.Values{{Name: "units", Of: units}, {Name: "act", Of: "tanh"}, {Name: "rate", Of: 0.5}}
	}
	log := olderLog()
	for study, units := range []int64{32, 40, 48} {
		log[0].Begun.Config.Earlier = append(log[0].Begun.Config.Earlier,
			tune.Earlier{Values: point(units), Metrics: map[string]float64{"acc": 0.5, "size": 1}, Study: study})
	}
	dir := leave(t, map[string]string{"study/log.jsonl": lines(t, log)})
	for studies, want := range map[Studies]map[int64]int{
		OneStudy:   {16: 0},
		AllStudies: {16: 1, 32: 2, 40: 3, 48: 4},
	} {
		c := units()
		if err := learnFrom(dir, studies, &c); err != nil {
			t.Fatal(err)
		}
		got := map[int64]int{}
		for _, e := range c.Earlier {
			of, _ := e.Values.Lookup("units")
			got[of.(int64)] = e.Study
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("numbers of studies by units (-want +got):\n%s", diff)
		}
	}
}

func TestOfEachOlderStudyAsMuchIsKeptAsIsLearnedFrom(t *testing.T) {
	t.Parallel()
	var older []tune.Earlier
	for study := range 12 {
		for n := range 250 {
			older = append(older, tune.Earlier{Metrics: map[string]float64{"acc": float64(250 - n)}, Study: 3 * study})
		}
	}
	kept := numbered(older)
	count, best := map[int]int{}, map[int]float64{}
	for _, e := range kept {
		count[e.Study]++
		best[e.Study] = max(best[e.Study], e.Metrics["acc"])
	}
	if len(count) != suggest.MostSources {
		t.Errorf("expected %d studies, got %d", suggest.MostSources, len(count))
	}
	for study := 1; study <= suggest.MostSources; study++ {
		if count[study] != suggest.MostOfEachSource || best[study] != 250 {
			t.Errorf("study %d: expected %d trials with the best, got %d with %v as the best", study, suggest.MostOfEachSource, count[study], best[study])
		}
	}
}

// In Hyperband and its variants, the score of a trial of few epochs says little about its score
// after all of them.
func TestASearchLearnsFromTrialsOfTheLargestBudget(t *testing.T) {
	t.Parallel()
	c := units()
	c.Objectives = c.Objectives[:1]
	c.Algorithm = tune.Algorithm{Name: tune.Hyperband, MaxEpochs: 9}
	var log []tune.Entry
	for id, epochs := range []int{1, 3, 3, 1} {
		me, name := tune.Owner{Job: "j", Attempt: "a"}, fmt.Sprintf("%04d", id)
		e := tune.Entry{Started: []tune.Started{{Trial: name, Owner: me, Suggestion: &tune.Suggestion{
			Epochs: epochs, Values: space.Values{{Name: "units", Of: int64(8 + 8*id)}, {Name: "act", Of: "tanh"}, {Name: "rate", Of: 0.5}},
		}}}}
		if id == 0 {
			e.Begun = &tune.Begun{Config: c}
		}
		log = append(log, e, tune.Entry{Ended: &tune.Ended{
			Trial: name, Owner: me, Status: tune.Completed, Metrics: map[string]float64{"acc": 0.5 + float64(id)/10},
		}})
	}
	for from, files := range map[string]map[string]string{
		"a study of ours": {"study/log.jsonl": lines(t, log)},
		"KerasTuner": {resultsFile: `[{"trial_id": "3", "score": 0.8, "units": 32, "act": "tanh", "tuner/epochs": 1}, {"trial_id": "2", "score": 0.7, "units": 24,
			"act": "tanh", "tuner/epochs": 3}, {"trial_id": "1", "score": 0.6, "units": 16, "act": "tanh", "tuner/epochs": 3.0}]`},
	} {
		c := units()
		if err := learnFrom(leave(t, files), OneStudy, &c); err != nil {
			t.Fatal(err)
		}
		var learned []any
		for _, e := range c.Earlier {
			of, _ := e.Values.Lookup("units")
			learned = append(learned, of)
		}
		if diff := cmp.Diff([]any{int64(24), int64(16)}, learned); diff != "" {
			t.Errorf("%s (-want +got):\n%s", from, diff)
		}
	}
}

func lines(t *testing.T, log []tune.Entry) string {
	t.Helper()
	var text strings.Builder
	previous := ""
	for _, entry := range log {
		entry.Previous = previous
		line, err := json.Marshal(entry)
		if err != nil {
			t.Fatal(err)
		}
		previous = tune.HashOf(line)
		text.Write(append(line, '\n'))
	}
	return text.String()
}

func TestWhatCanNotBeLearnedFromSaysWhy(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		files map[string]string
		want  string
	}{
		"a torn log":   {map[string]string{"study/log.jsonl": older(t) + "{"}, "log.jsonl: line 5"},
		"an empty log": {map[string]string{"study/log.jsonl": ""}, "log.jsonl: it has no entry"},
		"a long line":  {map[string]string{"study/log.jsonl": older(t) + strings.Repeat(" ", tune.MaxEntryBytes+2)}, "log.jsonl: line 5: more than 983040 bytes"},
		"no results":   {map[string]string{resultsFile: "{}"}, resultsFile},
		"no values":    {map[string]string{bestFile: "{}"}, bestFile},
		"a nested one": {map[string]string{resultsFile: `[{"units": [1]}]`}, resultsFile},
	} {
		c := units()
		if err := learnFrom(leave(t, tc.files), OneStudy, &c); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s", name, err, tc.want)
		}
	}
}

// The log of a long search with its curves is larger than any file that a module leaves: it is read
// entry by entry.
func TestALogIsReadHoweverLongItIs(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("reads 64 MiB")
	}
	found := make(space.Space, 1)
	// A known parameter changes nothing.
	found[0] = space.Parameter{Name: "act", Kind: space.Choice, Choices: []any{strings.Repeat("x", tune.MaxEntryBytes/4)}}
	log := olderLog()
	size := len(lines(t, []tune.Entry{{Space: found}}))
	for range maxBytes/size + 1 {
		log = append(log, tune.Entry{Space: found})
	}
	c := units()
	if err := learnFrom(leave(t, map[string]string{"study/log.jsonl": lines(t, log)}), OneStudy, &c); err != nil || len(c.Earlier) != 1 {
		t.Errorf("%d trials, %v", len(c.Earlier), err)
	}
}

// The learned trials are part of one message: however long names and values are, they leave room
// for the rest of the config.
func TestNoMoreIsLearnedFromThanAMessageHolds(t *testing.T) {
	t.Parallel()
	c := units()
	c.Space[1].Choices = []any{strings.Repeat("relu", 1000)}
	var trials []map[string]any
	for n := range 900 {
		trials = append(trials, map[string]any{"trial_id": "1", "score": float64(n), "units": 8, "act": c.Space[1].Choices[0]})
	}
	text, err := json.Marshal(trials)
	if err != nil {
		t.Fatal(err)
	}
	if err := learnFrom(leave(t, map[string]string{resultsFile: string(text)}), OneStudy, &c); err != nil {
		t.Fatal(err)
	}
	if _, err := (tune.Entry{Begun: &tune.Begun{Config: c}}).Bytes(); err != nil || len(c.Earlier) < 50 {
		t.Errorf("%d trials, %v", len(c.Earlier), err)
	}
}
