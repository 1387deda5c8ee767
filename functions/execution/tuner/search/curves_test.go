package search

import (
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune"
)

func TestATrialWithOtherMetricsNamesThem(t *testing.T) {
	t.Parallel()
	study := tune.Study{Config: tune.Config{Objectives: []tune.Objective{{Name: "auc", Direction: tune.Max}}}}
	ended := Completed(study, "0000", Curves{}, map[string]float64{"loss": 1, "accuracy": 0.5, "example_count": 8}, 0)
	if want := "it reported accuracy, example_count, loss"; ended.Status != tune.Failed || !strings.HasSuffix(ended.Message, want) {
		t.Errorf("%s: %q, want %q at its end", ended.Status, ended.Message, want)
	}
}
