package module_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/functions/module"
)

type shared struct {
	Seed int64 `json:"seed"`
}

type config struct {
	shared
	Units  []int              `json:"units"`
	Rate   float64            `json:"rate,omitempty"`
	Rates  []float64          `json:"rates"`
	Name   *string            `json:"name"`
	Deep   bool               `json:"deep"`
	Limits map[string]int     `json:"limits"`
	Nested struct{ Size int } `json:"nested"`
	Plain  string
	Left   int `json:"-"`
	hidden int
}

func TestKeysAreWhatJSONFills(t *testing.T) {
	t.Parallel()
	want := []string{"seed", "units", "rate", "rates", "name", "deep", "limits", "nested", "Plain"}
	if diff := cmp.Diff(want, module.Keys(&config{hidden: 1})); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
}

func TestConfigReplacesWhatIsThere(t *testing.T) {
	t.Parallel()
	a := assignment()
	a.CustomConfig = map[string]any{"units": []any{8.0, 4.0}, "seed": 3.0, "name": "adam", "deep": nil}
	c := config{Units: []int{1, 2, 3}, Rate: 0.5, Deep: true}
	if err := a.Config(&c); err != nil {
		t.Fatal(err)
	}
	want := config{shared: shared{3}, Units: []int{8, 4}, Rate: 0.5, Name: new("adam"), Deep: true}
	if diff := cmp.Diff(want, c, cmp.AllowUnexported(config{})); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
}

func TestConfigSaysInPlainWordsWhatIsWrong(t *testing.T) {
	t.Parallel()
	for key, c := range map[string]struct {
		value any
		want  string
	}{
		"units":  {8, "units: expected a list of whole numbers like [8], got 8"},
		"rates":  {[]any{"a"}, `rates: expected a list of numbers like [0.5], got ["a"]`},
		"rate":   {"fast", `rate: expected a number, got "fast"`},
		"seed":   {1.5, "seed: expected a whole number, got 1.5"},
		"name":   {true, "name: expected a string, got true"},
		"deep":   {1, "deep: expected true or false, got 1"},
		"limits": {map[string]any{"cpu": "many"}, `limits: expected a whole number at limits, got {"cpu":"many"}`},
		"nested": {map[string]any{"Size": "big"}, `nested: expected a whole number at nested.Size, got {"Size":"big"}`},
		"unit":   {9, `unknown key "unit"; did you mean units?`},
		"Seed":   {9, `unknown key "Seed"; did you mean seed?`},
	} {
		a := assignment()
		a.CustomConfig = map[string]any{key: c.value}
		if err := a.Config(&config{}); err == nil || err.Error() != "custom_config: "+c.want {
			t.Errorf("error is %v, expected %s", err, c.want)
		}
	}
	a := assignment()
	a.Hyperparameters = map[string]any{"values": map[string]any{"units": "wide", "other": 1}}
	if err := a.Tuned(&config{}); err == nil || err.Error() != `hyperparameters: units: expected a list of whole numbers like [8], got "wide"` {
		t.Errorf("error is %v", err)
	}
}

func TestTunedValuesReplaceDefaults(t *testing.T) {
	t.Parallel()
	for name, tuned := range map[string]map[string]any{
		"none": nil,
		"some": {"values": map[string]any{"units": []any{16}, "other": "x"}, "space": []any{}},
	} {
		a := assignment()
		a.Hyperparameters = tuned
		c := config{Units: []int{8}, Rate: 0.5}
		err := a.Tuned(&c)
		if want := map[string]int{"none": 8, "some": 16}[name]; err != nil || c.Units[0] != want || c.Rate != 0.5 {
			t.Errorf("%s: %+v, error %v", name, c, err)
		}
	}
}
