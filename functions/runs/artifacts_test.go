package runs_test

import (
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs"
)

// Runs are found by the artifacts that they read and the executions that they have, also where
// what joins name is dropped.
func TestRunsAreFoundByTheirArtifacts(t *testing.T) {
	t.Parallel()
	x := runs.NewIndex(runs.Options{MaxRuns: 10})
	digest := "sha256:" + strings.Repeat("0a", 32)
	trained := func(run string, cached bool, inputs ...events.Artifact) {
		x.ApplyEvent(events.Recorded{
			Message: events.Message{Sequence: uint64(x.Tail() + 1)},
			Event: events.Event{Pipeline: "penguin", Run: run, Data: &events.ModelTrained{
				Model: events.Model{URI: "s3://bkt/m"}, Execution: digest, Cached: cached, Inputs: inputs,
			}},
		})
	}
	trained("first", false, events.Artifact{Type: "Examples", URI: "s3://bkt/ex/17/Split-train"}, events.Artifact{Type: "Schema", URI: "s3://bkt/schema/"})
	trained("again", true)
	x.Apply(events.KVJoins, events.Copy{Key: "penguin/waits", Revision: 1, Value: []byte(
		`{"pipeline": "penguin", "run": "waits", "state": "waiting", "events": [{"sequence": 7, "inputs": {"transform_graph": "s3://bkt/graph"}}]}`)})
	for name, tc := range map[string]struct {
		found iter.Seq[runs.Key]
		want  []string
	}{
		"a split":              {x.ReadBy("s3://bkt/ex/17/Split-train"), []string{"first"}},
		"all splits":           {x.ReadBy("s3://bkt/ex/17/"), []string{"first"}},
		"one of two":           {x.ReadBy("s3://bkt/nothing", "s3://bkt/schema"), []string{"first"}},
		"an event of a run":    {x.ReadBy("s3://bkt/graph"), []string{"waits"}},
		"part of an address":   {x.ReadBy("s3://bkt/ex"), nil},
		"no address":           {x.ReadBy(""), nil},
		"made":                 {x.MadeBy(digest), []string{"first"}},
		"used":                 {x.UsedBy(digest), []string{"again"}},
		"of another execution": {x.MadeBy("sha256:1"), nil},
	} {
		var runs []string
		for key := range tc.found {
			runs = append(runs, key.Run)
		}
		if slices.Sort(runs); !slices.Equal(runs, tc.want) {
			t.Errorf("%s: %q, want %q", name, runs, tc.want)
		}
	}
}
