package run

import (
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs/query"
	"github.com/stoker-ml/stoker/functions/stoker/app"
)

func TestAModelsTableSaysWhatItStartedFromAndHowItsFilesCompare(t *testing.T) {
	t.Parallel()
	for want, data := range map[string]*events.ModelTrained{
		"metrics|loss 0.5":                           {Metrics: map[string]float64{"loss": 0.5}},
		"metrics||hyperparameters|act relu  units 8": {Hyperparameters: map[string]any{"units": 8.0, "act": "relu"}},
		"metrics||base model|s3://b/old":             {BaseModel: "s3://b/old"},
		"metrics||cached|the same inputs, module and settings were trained before; the existing model is used": {Cached: true},
		"metrics||skew|not compared: an image": {Skew: &events.Skew{Note: "not checked: an image\nand more"}},
		"metrics||skew|none: answers at most 1e-07 apart in 100 raw rows, within the tolerance 1e-05": {
			Skew: &events.Skew{Rows: 100, MaxAbs: 1e-7, Tolerance: 1e-5, Raw: true, Note: "y is not compared"},
		},
	} {
		var out strings.Builder
		describeModel(&out, data)
		if got := strings.NewReplacer("\n", "|", "\t", "|").Replace(strings.TrimSpace(out.String())); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The commands in hints after a failure find the data of the command that failed.
func TestHintsAfterAFailureNameTheDataDirectory(t *testing.T) {
	t.Parallel()
	a := &app.App{Self: "stoker", DataDir: "/elsewhere"}
	var failed, dead query.Detail
	failed.Pipeline, failed.Run = "penguin", "monday"
	dead = failed
	dead.DeadLetter, dead.Failed.Log = 2, "s3://stoker/log"
	ended := dead
	ended.EndedWithoutJob = true
	if hint := wayOn(a, ended); strings.Contains(hint, "dead retry") || !strings.Contains(hint, "runs rerun") {
		t.Errorf("of a run that ended without its job: %s", hint)
	}
	for _, hint := range []string{wayOn(a, failed), wayOn(a, dead), wayOn(a, ended)} {
		if commands, data := strings.Count(hint, "`")/2, strings.Count(hint, " --data /elsewhere`"); commands == 0 || commands != data {
			t.Errorf("%d of %d commands name the data directory: %s", data, commands, hint)
		}
	}
}
