package tuner

import (
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

func TestWhatASearchLearnsFromIsItsInput(t *testing.T) {
	t.Parallel()
	const run, hash = "s3://bkt/penguin/Tuner/best_hyperparameters/", "0af7651916cd43dd8448eb211c80319c0af7651916cd43dd8448eb211c80319c"
	latest := run + hash + "/attempt"
	for name, tc := range map[string]struct{ from, pinned, want string }{
		"nothing":                {"", latest, ""},
		"the latest of ours":     {"latest", latest, strings.Replace(latest, bestKey, resultsKey, 1)},
		"the latest of others":   {"latest", "s3://bkt/found", "s3://bkt/found"},
		"the first has no other": {"latest", "", ""},
		"results of ours":        {strings.Replace(latest, bestKey, resultsKey, 1), "s3://bkt/found", strings.Replace(latest, bestKey, resultsKey, 1)},
		"results of others":      {"s3://bkt/results", latest, "s3://bkt/results"},
	} {
		job := events.Job{Inputs: events.Inputs{Hyperparameters: tc.pinned}}
		got := learningFrom(job, pipeline.Search{Study: &pipeline.Study{From: tc.from}}).Inputs.Hyperparameters
		if got != tc.want || job.Inputs.Hyperparameters != tc.pinned {
			t.Errorf("%s: learns from %q, want %q", name, got, tc.want)
		}
	}
	if got := learningFrom(events.Job{Inputs: events.Inputs{Hyperparameters: latest}}, pipeline.Search{}).Inputs.Hyperparameters; got != "" {
		t.Errorf("a pipeline that says nothing learns from %q", got)
	}
}
