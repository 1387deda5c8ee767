package runs

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
)

func TestParametersAreKeptWithoutSecretsAndBounded(t *testing.T) {
	t.Parallel()
	many := map[string]any{}
	for i := range 100 {
		many[fmt.Sprintf("z%03d", i)] = i
	}
	settings := `{"units": 9, "layers": [8, 16], "optimizer": {"name": "adam", "rate": {"first": 1e-3}}, "none": null,
		"long": "` + strings.Repeat("x", 200) + `", "` + strings.Repeat("n", 100) + `": 1, "url": "s3://me:hunter2@host/x"}`
	got := parametersOf(map[string]any{"units": 64, "activation": "re\"lu", "api_token": "hunter2", "deep": true}, json.RawMessage(settings))
	text, err := json.Marshal(got)
	const want = `{"activation":"re\"lu","api_token":"••••••","deep":true,"layers":[8,16],"optimizer.name":"adam","optimizer.rate.first":1e-3,"units":64,"url":"s3://••••••@host/x"}`
	if err != nil || string(text) != want {
		t.Errorf("%s, %v\nwant %s", text, err, want)
	}
	var again Parameters
	if err := json.Unmarshal(text, &again); err != nil || len(again) != len(got) {
		t.Errorf("%v, %v", again, err)
	}
	for name, want := range map[string]string{"activation": `re"lu`, "units": "64", "layers": "[8,16]", "deep": "true"} {
		if text, has := got.Get(name); !has || text != want {
			t.Errorf("%s is %q, %t", name, text, has)
		}
	}
	if _, has := got.Get("unit"); has {
		t.Error("a name that isn't there has a value")
	}
	if n := len(parametersOf(many, json.RawMessage(settings))); n != maxParameters {
		t.Errorf("%d parameters are kept", n)
	}
	if got := parametersOf(nil, json.RawMessage(`[1]`)); got != nil {
		t.Errorf("%v of an array", got)
	}
}

func TestARunHasTheParametersOfItsSearchAndThenOfItsModel(t *testing.T) {
	t.Parallel()
	x, key := NewIndex(Options{}), Key{"penguin", "monday"}
	apply := func(sequence uint64, data events.Data) Summary {
		x.ApplyEvent(events.Recorded{Event: events.Event{Pipeline: key.Pipeline, Run: key.Run, Data: data}, Message: events.Message{Sequence: sequence, Stored: time.Unix(int64(sequence), 0)}})
		run, _ := x.Run(key)
		return run.Summary
	}
	searched := apply(1, &events.HParamsReady{Values: map[string]any{"units": 32}})
	if text, _ := searched.Parameters.Get("units"); text != "32" || !searched.Started.Equal(time.Unix(1, 0)) {
		t.Errorf("%+v", searched)
	}
	trained := apply(2, &events.ModelTrained{Hyperparameters: map[string]any{"units": 64}, Settings: json.RawMessage(`{"batch_size": 8}`), Attempts: 2})
	units, _ := trained.Parameters.Get("units")
	batch, _ := trained.Parameters.Get("batch_size")
	if units != "64" || batch != "8" || trained.Attempts != 2 {
		t.Errorf("%+v", trained)
	}
}
