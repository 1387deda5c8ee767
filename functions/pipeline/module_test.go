package pipeline_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

func TestAModuleIsAWordOrAMapping(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		want       module.Source
		json       string // canonical
	}{
		{"a word", "module: ./penguin.py", module.Source{Path: "./penguin.py"}, `"./penguin.py"`},
		{"a mapping that says no more", "module: {path: ./penguin.py}", module.Source{Path: "./penguin.py"}, `"./penguin.py"`},
		{"an address", "module: s3://modules/penguin.zip", module.Source{Path: "s3://modules/penguin.zip"}, `"s3://modules/penguin.zip"`},
		{"keras as YAML reads it", "module: {path: m.py, keras: 3}", module.Source{Path: "m.py", Keras: "3"}, `{"path":"m.py","keras":"3"}`},
		{"keras in quotes", "module: {path: m.py, keras: '2'}", module.Source{Path: "m.py", Keras: "2"}, `{"path":"m.py","keras":"2"}`},
		{"every key", "module:\n  path: ./models\n  run_fn: wide.run_fn\n  tuner_fn: größe.tune_2\n  python: ../venv\n  keras: auto\n" +
			"  requirements: [humanize>=4, ./x-1.0-py3-none-any.whl]\n  autograph: all", module.Source{
			Path: "./models", RunFn: "wide.run_fn", TunerFn: "größe.tune_2", Python: "../venv", Keras: "auto",
			Requirements: []string{"humanize>=4", "./x-1.0-py3-none-any.whl"}, Autograph: "all",
		}, `{"path":"./models","run_fn":"wide.run_fn","tuner_fn":"größe.tune_2","python":"../venv","keras":"auto",` +
			`"requirements":["humanize\u003e=4","./x-1.0-py3-none-any.whl"],"autograph":"all"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text := "pipeline: p\n" + tt.text + "\n"
			p := parse(t, text)
			if diff := cmp.Diff(tt.want, p.Module.Source()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			canonical, err := p.JSON()
			if err != nil || !strings.Contains(string(canonical), `"module":`+tt.json+`,`) {
				t.Errorf("%s, %v, want %s in it", canonical, err, tt.json)
			}
			again, err := pipeline.FromJSON(canonical)
			if diff := cmp.Diff(p, again); err != nil || diff != "" {
				t.Errorf("%v, from JSON:\n%s", err, diff)
			}
			if err := compile(t).Validate(plain(t, text)); err != nil {
				t.Errorf("refused by the schema: %v", err)
			}
		})
	}
}

func TestABadModuleNamesLineColumnAndKey(t *testing.T) {
	t.Parallel()
	const head = "pipeline: p\nmodule:\n  path: m.py\n"
	for _, tt := range []struct {
		name, text, want string
		schemaTakes      bool // forms that the schema can't express
	}{
		{"nothing", "pipeline: p\nmodule:\n", "p.yaml:2:1: module: missing, expected builtin:<name>, a TFX module file, a folder with a Go program, or a built one", false},
		{"a list", "pipeline: p\nmodule: [m.py]\n",
			"p.yaml:2:1: module: expected builtin:<name>, a path or an address, or a mapping like {path: ./penguin_utils.py, keras: 3}, got a list", false},
		{"no path", "pipeline: p\nmodule:\n  keras: 3\n", "p.yaml:2:1: module: missing, expected builtin:<name>, a TFX module file, a folder with a Go program, or a built one", false},
		{"an unknown key", head + "  requirement: [x]\n", "p.yaml:4:3: module.requirement: unknown key; did you mean requirements?", false},
		{"a Keras that is none", head + "  keras: 4\n", `p.yaml:4:3: module.keras: expected one of auto, 2, 3, got "4"`, false},
		{"a Keras as TensorFlow has it", head + "  keras: true\n", `p.yaml:4:3: module.keras: expected one of auto, 2, 3, got "true"`, false},
		{"several", head + "  keras: [2, 3]\n", `p.yaml:4:3: module.keras: expected text, got a list`, false},
		{"an option", head + "  requirements:\n  - humanize\n  - --index-url=https://e.example\n",
			`p.yaml:6:5: module.requirements[1]: requirement "--index-url=https://e.example": is an option of pip; the worker's pip.conf or PIP_ variables configure pip`, true},
		{"one requirement", head + "  requirements: humanize\n", `p.yaml:4:3: module.requirements: expected a list, got text "humanize"`, false},
		{"an empty requirement", head + "  requirements: ['']\n", `p.yaml:4:18: module.requirements[0]: requirement "": is empty`, true},
		{"nothing for a requirement", head + "  requirements:\n  -\n", `p.yaml:5:5: module.requirements[0]: expected a value, got nothing`, false},
		{"a file for a function", head + "  run_fn: penguin.py:run_fn\n",
			`p.yaml:4:3: module.run_fn: expected the dotted name of a function, like my_module.run_fn, got "penguin.py:run_fn"`, true},
		{"a relative name", head + "  tuner_fn: .tuner_fn\n", `p.yaml:4:3: module.tuner_fn: expected the dotted name of a function, like my_module.run_fn, got ".tuner_fn"`, true},
		{"an interpreter far away", head + "  python: s3://envs/python\n",
			`p.yaml:4:3: module.python: expected an interpreter or an environment's folder on the worker, got "s3://envs/python"`, true},
		{"an unknown way to convert", head + "  autograph: none\n", `p.yaml:4:3: module.autograph: expected one of user, all, got "none"`, false},
		{"a builtin one with what is for others", "pipeline: p\nmodule:\n  path: builtin:dnn\n  keras: 3\n  requirements: [x]\n",
			"p.yaml:4:3: module.keras: applies only to TFX modules, not to builtin:dnn\n" +
				"p.yaml:5:3: module.requirements: applies only to TFX modules, not to builtin:dnn", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := pipeline.Parse("p.yaml", []byte(tt.text))
			if err == nil || err.Error() != tt.want {
				t.Errorf("error is\n%v\nwant\n%s", err, tt.want)
			}
			if err := compile(t).Validate(plain(t, tt.text)); (err == nil) != tt.schemaTakes {
				t.Errorf("the schema says %v", err)
			}
		})
	}
}
