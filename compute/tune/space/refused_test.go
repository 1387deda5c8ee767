package space_test

import (
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune/space"
)

// one wraps a parameter's class and the content of its config.
func one(class, config string) string {
	return `{"space": [{"class_name": "` + class + `", "config": {"name": "x", "conditions": [], ` + config + `}}], "values": {}}`
}

func TestWhatKerasTunerRefusesIsRefusedByName(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]string{
		one("Int", `"min_value": 3, "max_value": 2`):                                              "x: min_value 3 is more than max_value 2",
		one("Int", `"min_value": 1.5, "max_value": 2`):                                            "x: 1.5 among its bounds",
		one("Int", `"min_value": 1, "max_value": 9, "step": 0.5`):                                 "x: 0.5 among its bounds",
		one("Int", `"min_value": 1, "max_value": 9, "default": 1.5`):                              "x: default 1.5",
		one("Int", `"min_value": 1, "max_value": 9e30`):                                           "at most 2^53",
		one("Int", `"max_value": 9`):                                                              "x: min_value: expected a number, got null",
		one("Float", `"min_value": "a", "max_value": 9`):                                          `x: min_value: expected a number, got "a"`,
		one("Float", `"min_value": 0, "max_value": 1, "sampling": "log"`):                         "x: min_value 0: expected a positive number",
		one("Float", `"min_value": -1, "max_value": 1, "sampling": "reverse_log"`):                "x: min_value -1: expected a positive number",
		one("Float", `"min_value": 1, "max_value": 9, "sampling": "log", "step": 1`):              "x: step 1: expected more than 1",
		one("Float", `"min_value": 1, "max_value": 9, "step": -1`):                                "x: step -1: expected a positive number",
		one("Float", `"min_value": 1, "max_value": 9, "sampling": "ln"`):                          `x: sampling "ln": expected linear, log or reverse_log`,
		one("Float", `"min_value": 1, "max_value": Infinity`):                                     "expected a finite number",
		one("Choice", `"values": []`):                                                             "x: no values to choose from",
		one("Choice", `"values": [1, "a"]`):                                                       "x: values[1] is a: expected all of one type",
		one("Choice", `"values": [1, null]`):                                                      "x: values[1] is <nil>",
		one("Choice", `"values": ["a"], "ordered": true`):                                         "x: ordered, but texts have no order",
		one("Choice", `"values": ["a"], "default": "b"`):                                          "x: default b: expected one of its values",
		one("Boolean", `"default": "yes"`):                                                        "x: default yes: expected a truth",
		one("Fixed", `"value": null`):                                                             "x: value <nil>",
		one("Fixed", `"value": 7, "conditions": [{"class_name": "Parent", "config": {}}]`):        `x: depends on "" being one of 0`,
		one("Fixed", `"value": 7, "conditions": [{"class_name": "Child", "config": {}}]`):         `x: conditions[0]: expected a Parent, got "Child"`,
		one("Text", `"value": 7`):                                                                 `x: class "Text": expected Int, Float`,
		one("Fixed", `"value": 1, "conditions": `+parent("x", "1")):                               "x: depends on a parameter by its own name",
		one("Fixed", `"value": 1, "conditions": `+parent("y", "1")):                               "x: depends on y: expected the name of a parameter before it",
		`{"space": [], "values": []}`:                                                             "values: expected an object, got []",
		`{"space": [], "values": {"a": [1]}}`:                                                     "values: a: expected a number, a text or a truth, got [1]",
		`{"space": {}, "values": {}}`:                                                             "space: expected a list of parameters, got {}",
		`{"space": [1], "values": {}}`:                                                            "space: [0]: expected an object with class_name and config, got 1",
		`{"values": {}}`:                                                                          `no "space" in it`,
		`{"space": []}`:                                                                           `no "values" in it`,
		`[]`:                                                                                      `HyperParameters returns: []`,
		`{"space": [], "values": {}`:                                                              "JSON at byte 26: expected , or }",
		`{"space": [], "values": {}} {}`:                                                          "something after the value",
		`{"space": [], "values": {"a": 99999999999999999999}}`:                                    "more than 64 bits hold",
		`{"space": [], "values": ` + strings.Repeat(`{"a": `, 40) + `1` + strings.Repeat("}", 41): "nested more than 16 deep",
	} {
		if _, _, err := space.Decode([]byte(config)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, expected %s", config, err, want)
		}
	}
}

// parent returns a list of one condition.
func parent(name, values string) string {
	return `[{"class_name": "Parent", "config": {"name": "` + name + `", "values": [` + values + `]}}]`
}

func TestASpaceMadeInGoIsChecked(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]space.Space{
		`a parameter named ""`:             {{Kind: space.Boolean}},
		"none that begins with tuner/":     {{Name: "tuner/epochs", Kind: space.Boolean}},
		"x: is there twice":                {{Name: "x", Kind: space.Boolean}, {Name: "x", Kind: space.Boolean}},
		"x: values[0] is true":             {{Name: "x", Kind: space.Choice, Choices: []any{true}}},
		"x: default 1 (float64)":           {{Name: "x", Kind: space.Int, Max: 3, Default: 1.0}},
		"b: depends on a: expected the na": {{Name: "b", Kind: space.Boolean, Conditions: []space.Condition{{"a", []any{"x"}}}}, {Name: "a", Kind: space.Boolean}},
	} {
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %s", err, want)
		}
	}
	if err := models.Check(); err != nil {
		t.Error(err)
	}
}
