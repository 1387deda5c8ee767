package openlineage

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/events"
)

// spec checks events against OpenLineage's own schemas, and each facet against the schema that it
// names.
type spec struct {
	compiler *jsonschema.Compiler
}

func openSpec(t *testing.T) spec {
	t.Helper()
	s := spec{jsonschema.NewCompiler()}
	s.compiler.AssertFormat()
	files, err := filepath.Glob("testdata/spec/*.json")
	if err != nil || len(files) < 7 {
		t.Fatal(files, err)
	}
	for _, name := range append(files, "facets.v1.json") {
		text, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		document, err := jsonschema.UnmarshalJSON(text)
		text.Close()
		if err != nil {
			t.Fatal(name, err)
		}
		if err := s.compiler.AddResource(document.(map[string]any)["$id"].(string), document); err != nil {
			t.Fatal(name, err)
		}
	}
	return s
}

func (s spec) check(t *testing.T, schema string, v any) {
	t.Helper()
	compiled, err := s.compiler.Compile(schema)
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	if err := compiled.Validate(v); err != nil {
		t.Errorf("%s: %v", schema, err)
	}
}

// event checks one, and every facet in it.
func (s spec) event(t *testing.T, e Event) {
	t.Helper()
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	s.check(t, e.SchemaURL, v)
	s.check(t, "https://openlineage.io/spec/2-0-2/OpenLineage.json", v)
	for _, facets := range facetsIn(v) {
		for name, one := range facets {
			said, ok := one.(map[string]any)
			if !ok || said["_producer"] != producer {
				t.Errorf("facet %s: %v", name, one)
				continue
			}
			s.check(t, said["_schemaURL"].(string), one)
		}
	}
}

// facetsIn finds all facets, wherever they are.
func facetsIn(v any) (all []map[string]any) {
	switch v := v.(type) {
	case map[string]any:
		for key, below := range v {
			if found, ok := below.(map[string]any); ok && key == "facets" {
				all = append(all, found)
			}
			all = append(all, facetsIn(below)...)
		}
	case []any:
		for _, below := range v {
			all = append(all, facetsIn(below)...)
		}
	}
	return all
}

var (
	noon   = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	digest = "sha256:" + strings.Repeat("ab", 32)
)

func recorded(source string, data events.Data) events.Recorded {
	return events.Recorded{
		Message: events.Message{Sequence: 7, Stored: noon.Add(time.Hour)},
		Event:   events.Event{ID: "x", Source: source, Pipeline: "penguin", Run: "mon/day", Time: noon.Add(time.Minute), Data: data},
	}
}

func trained(cached bool) *events.ModelTrained {
	return &events.ModelTrained{
		Model:     events.Model{URI: "s3://bkt/penguin/Trainer/model/ab/1", Digest: digest, Formats: []string{"Format-Serving"}},
		ModelRun:  "s3://bkt/penguin/Trainer/model_run/ab/1",
		Execution: digest, Cached: cached, Metrics: map[string]float64{"loss": 0.5}, Module: "builtin:dnn@7",
		Inputs:          []events.Artifact{{Type: "Examples", URI: "s3://bkt/examples/Split-train", Digest: digest}},
		Hyperparameters: map[string]any{"learning_rate": 0.1}, Started: noon, Finished: noon.Add(time.Minute), Attempts: 1,
	}
}

func search() *Search {
	trial := func(id string, status tune.Status, message string) *tune.Trial {
		t := &tune.Trial{ID: id, Status: status, Message: message, Metrics: map[string]float64{"loss": 1}, Started: noon, Ended: noon.Add(time.Second)}
		t.Suggestion.Values = space.Values{{Name: "x", Of: 0.5}, {Name: "kind", Of: "relu"}}
		return t
	}
	going := trial("0003", tune.Running, "")
	going.Ended = time.Time{}
	return &Search{Inputs: trained(false).Inputs, Module: "m", Started: noon, Trials: []*tune.Trial{
		trial("0000", tune.Completed, ""), trial("0001", tune.Failed, "boom"), trial("0002", tune.Infeasible, "no"), going,
	}}
}

func found() *events.HParamsReady {
	score := 0.5
	return &events.HParamsReady{
		Hyperparameters: "s3://bkt/penguin/Tuner/best_hyperparameters/cd/1", Study: "s3://bkt/penguin/Tuner/tuner_results/cd/1",
		Values: map[string]any{"x": 0.5}, Score: &score, Objective: "loss", Execution: digest,
	}
}

func TestEventsAreWhatTheSpecSaysAndInTheOrderOfARun(t *testing.T) {
	t.Parallel()
	s := openSpec(t)
	tuner := events.Source(events.FunctionTune)
	failure := events.Failed{Reason: events.FailureModule, Message: "boom", LogTail: "line\n", Attempt: 2, Execution: digest}
	cancelled := events.Failed{Reason: events.FailureCancelled, Message: "cancelled"}
	for name, tc := range map[string]struct {
		recorded events.Recorded
		search   *Search
		states   []State
	}{
		"a training":                          {recorded("/stoker/train", trained(false)), nil, []State{Start, Complete}},
		"one that was done before":            {recorded("/stoker/train", trained(true)), nil, []State{Start, Complete}},
		"a failed one":                        {recorded("/stoker/train", &events.TrainingFailed{Failed: failure}), nil, []State{Start, Fail}},
		"a cancelled one":                     {recorded("/stoker/train", &events.TrainingFailed{Failed: cancelled}), nil, []State{Start, Abort}},
		"a search":                            {recorded(tuner, found()), search(), []State{Start, Start, Complete, Start, Fail, Start, Abort, Start, Complete}},
		"one of which only the event is left": {recorded(tuner, found()), nil, []State{Start, Complete}},
		"a failed search": {recorded(tuner, &events.TuningFailed{Failed: failure}), search(),
			[]State{Start, Start, Complete, Start, Fail, Start, Abort, Start, Fail}},
		"an event of upstream": {recorded("/airflow", found()), nil, nil},
		"what is no event":     {events.Recorded{Err: events.ErrNotFound}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := Converter{Version: "v1"}.Of(tc.recorded, tc.search)
			var states []State
			for _, e := range all {
				states = append(states, e.Type)
				s.event(t, e)
			}
			if len(states) != len(tc.states) {
				t.Fatalf("%v, want %v", states, tc.states)
			}
			for i := range states {
				if states[i] != tc.states[i] {
					t.Errorf("%v, want %v", states, tc.states)
				}
			}
		})
	}
	s.event(t, Converter{}.Progress(events.FunctionTrain, "", events.Progress{Pipeline: "penguin", Run: "r", Phase: "training", Step: 3, Time: noon}))
}

func TestTheSameEventMakesTheSameEvents(t *testing.T) {
	t.Parallel()
	tuner := events.Source(events.FunctionTune)
	first, second := Converter{}.Of(recorded(tuner, found()), search()), Converter{}.Of(recorded(tuner, found()), search())
	a, _ := json.Marshal(first)
	b, _ := json.Marshal(second)
	if string(a) != string(b) || len(first) == 0 {
		t.Errorf("%s\n%s", a, b)
	}
	ids := map[string]int{}
	for _, e := range first {
		ids[e.Run.ID]++
	}
	if len(ids) != 5 {
		t.Errorf("one search and four trials have %d run ids", len(ids))
	}
}

func TestATrialIsBelowItsSearchAndDataHasItsVersion(t *testing.T) {
	t.Parallel()
	all := Converter{Namespace: "prod"}.Of(recorded(events.Source(events.FunctionTune), found()), search())
	parent, _ := all[1].Run.Facets["parent"].(map[string]any)
	if run, _ := parent["run"].(map[string]any); run["runId"] != all[0].Run.ID || all[0].Job.Name != "penguin.tune" || all[0].Job.Namespace != "prod" {
		t.Errorf("a trial of %s %s: %v", all[0].Job.Name, all[0].Run.ID, parent)
	}
	input := all[0].Inputs[0]
	version, _ := input.Facets["version"].(map[string]any)
	if input.Namespace != "s3://bkt" || input.Name != "examples/Split-train" || version["datasetVersion"] != digest {
		t.Errorf("read %+v", input)
	}
}

// The run of an active trial is the one that is sent once its search has ended.
func TestAnActiveTrialIsTheSameRunAtTheEnd(t *testing.T) {
	t.Parallel()
	all := Converter{}.Of(recorded(events.Source(events.FunctionTune), found()), search())
	going := Converter{}.Progress(events.FunctionTune, "", events.Progress{Pipeline: "penguin", Run: "mon/day", Phase: "trial 0001", Step: 3, Time: noon})
	ended := all[3] // the second trial's start
	if going.Type != Running || going.Run.ID != ended.Run.ID || going.Job.Name != "penguin.trial" || !reflect.DeepEqual(going.Run.Facets["parent"], ended.Run.Facets["parent"]) {
		t.Errorf("%+v\nis not that of\n%+v", going, ended)
	}
	openSpec(t).event(t, going)
	search := Converter{}.Progress(events.FunctionTune, "", events.Progress{Pipeline: "penguin", Run: "mon/day", Phase: "tuning", Step: 1, Time: noon})
	if search.Run.ID != all[0].Run.ID || search.Run.Facets["parent"] != nil {
		t.Errorf("the search itself: %+v", search.Run)
	}
}

func TestACachedModelIsSentWithTheTimeOfItsEventAndASaltIsAnotherRun(t *testing.T) {
	t.Parallel()
	made, taken := Converter{}.Of(recorded("", trained(false)), nil), Converter{}.Of(recorded("", trained(true)), nil)
	if !made[0].Time.Equal(noon) || !taken[0].Time.Equal(noon.Add(time.Hour)) || !taken[1].Time.Equal(taken[0].Time) {
		t.Errorf("made from %v, taken from %v to %v", made[0].Time, taken[0].Time, taken[1].Time)
	}
	salted := trained(false)
	salted.Salt = "s"
	if again := (Converter{}).Of(recorded("", salted), nil); again[0].Run.ID == made[0].Run.ID || made[0].Run.ID != taken[0].Run.ID {
		t.Errorf("run ids %s, %s, %s", made[0].Run.ID, taken[0].Run.ID, again[0].Run.ID)
	}
}
