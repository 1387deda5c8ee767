package trainer_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// read returns the contents of the files that match patterns, in order.
func read(t *testing.T, patterns []string) (texts []string) {
	t.Helper()
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(text))
		}
	}
	return texts
}

func TestAnArtifactsOwnPatternNamesTheFilesOfASplit(t *testing.T) {
	t.Parallel()
	var train, eval []string
	b := setup(t, func(a module.Assignment) (runner.Outcome, error) {
		train, eval = read(t, a.TrainFiles), read(t, a.EvalFiles)
		return writesModel(a)
	})
	for key, body := range map[string]string{
		"day-1/train-0": "1 train 0", "day-1/train-1": "1 train 1", "day-2/train-0": "2 train 0", "day-1/eval-0": "1 eval",
		"Split-train/data": "another split", "train-0": "above",
	} {
		b.put(t, "up/own/"+key, body)
	}
	j := job(t, "j1", "monday", spec)
	own := events.Examples{URI: "s3://stoker/up/own/", CustomSplitPattern: map[string]string{"train": "day-[12]/train-*", "eval": "day-1/eval-0"}}
	j.Inputs.TransformedExamples = append(j.Inputs.TransformedExamples, own)
	if _, err := b.handle(t, j, "a1"); err != nil {
		t.Fatal(err)
	}
	if want := []string{"train rows", "1 train 0", "1 train 1", "2 train 0"}; !slices.Equal(train, want) {
		t.Errorf("trained on %q, want %q", train, want)
	}
	if want := []string{"eval rows", "1 eval"}; !slices.Equal(eval, want) {
		t.Errorf("evaluated on %q, want %q", eval, want)
	}
	for why, pattern := range map[string]map[string]string{
		`split "eval" is not among the splits of the event: train`:                                          {"train": "day-1/*"},
		`transformed_examples[1]: split "eval": list s3://stoker/up/own/day-1: no file of 3 matches test-*`: {"train": "day-1/*", "eval": "day-1/test-*"},
	} {
		j.Inputs.TransformedExamples[1].CustomSplitPattern = pattern
		if _, err := b.handle(t, j, "a2"); kindOf(err) != events.FailureInput || !strings.Contains(err.Error(), why) {
			t.Errorf("kind %q of %v, want %s", kindOf(err), err, why)
		}
	}
}

func TestTheModuleGetsTheNumberOfExamples(t *testing.T) {
	t.Parallel()
	var given module.Assignment
	b := setup(t, func(a module.Assignment) (runner.Outcome, error) {
		given = a
		return writesModel(a)
	})
	for _, split := range []string{"train", "eval"} {
		text, err := os.ReadFile("../../../compute/data/example/testdata/statistics/Split-" + split + "/FeatureStats.pb")
		if err != nil {
			t.Fatal(err)
		}
		b.put(t, "up/stats/Split-"+split+"/FeatureStats.pb", string(text))
	}
	j := job(t, "j1", "monday", spec)
	j.Inputs.Statistics = "s3://stoker/up/stats"
	if _, err := b.handle(t, j, "a1"); err != nil {
		t.Fatal(err)
	}
	if want := map[string]int64{"train": 10036, "eval": 4966}; !maps.Equal(given.NumExamples, want) {
		t.Errorf("num_examples %v, want %v", given.NumExamples, want)
	}
	b.put(t, "up/stats/Split-eval/FeatureStats.pb", "datasets { num_examples: 5 }")
	_, err := b.handle(t, j, "a2")
	if kindOf(err) != events.FailureInput || !strings.Contains(err.Error(), "statistics: parse statistics Split-eval/FeatureStats.pb") {
		t.Errorf("kind %q of %v", kindOf(err), err)
	}
	b.put(t, "up/other/FeatureStats.pb", "")
	j.Inputs.Statistics = "s3://stoker/up/other"
	if _, err := b.handle(t, j, "a3"); kindOf(err) != events.FailureInput || !strings.Contains(err.Error(), "statistics: it has no Split-<name>/FeatureStats.pb") {
		t.Errorf("kind %q of %v", kindOf(err), err)
	}
}

func TestAnotherPayloadIsAnotherExecution(t *testing.T) {
	t.Parallel()
	var payloads []string
	b := setup(t, func(a module.Assignment) (runner.Outcome, error) {
		payloads = append(payloads, a.PayloadFormat)
		return writesModel(a)
	})
	var published []*events.ModelTrained
	for _, payload := range []string{"", events.PayloadExample, events.PayloadSequenceExample} {
		j := job(t, "j"+payload, "monday"+payload, spec)
		j.Inputs.TransformedExamples[0].PayloadFormat = payload
		got, err := b.handle(t, j, "a1")
		if err != nil {
			t.Fatal(err)
		}
		published = append(published, got)
	}
	if want := []string{events.PayloadExample, module.PayloadSequenceExample}; !slices.Equal(payloads, want) {
		t.Errorf("modules got %q, want %q", payloads, want)
	}
	if published[0].Execution != published[1].Execution || published[1].Execution == published[2].Execution || !published[1].Cached || published[2].Cached {
		t.Errorf("executions %s, %s, %s", published[0].Execution, published[1].Execution, published[2].Execution)
	}
	j := job(t, "mixed", "monday", spec)
	j.Inputs.TransformedExamples = append(j.Inputs.TransformedExamples, events.Examples{URI: "s3://stoker/up/tx", PayloadFormat: events.PayloadSequenceExample})
	if _, err := b.handle(t, j, "a1"); kindOf(err) != events.FailureInput || !strings.Contains(err.Error(), "inputs.transformed_examples[1].payload_format") {
		t.Errorf("kind %q of %v", kindOf(err), err)
	}
}
