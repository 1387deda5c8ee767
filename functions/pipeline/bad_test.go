package pipeline_test

import (
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// Each text is a file p.yaml; head stands for the two required keys.
func TestABadFileNamesLineColumnAndKey(t *testing.T) {
	t.Parallel()
	const head = "pipeline: p\nmodule: builtin:dnn\n"
	tests := []struct{ name, text, want string }{
		{"empty file", "", `p.yaml:1:1: the file holds no pipeline`},
		{"only a comment", "# nothing\n", `p.yaml:1:1: the file holds no pipeline`},
		{"not a mapping", "- a\n", `p.yaml:1:1: expected a mapping, got a list`},
		{"no YAML", "pipeline: [\n", `p.yaml:1:11: sequence end token ']' not found`},
		{"a tab", "pipeline: p\n\tmodule: m\n", "p.yaml:2:1: found character '\t' that cannot start any token"},
		{"twice the same key", head + "module: builtin:dnn\n", `p.yaml:3:1: mapping key "module" already defined at [2:1]`},
		{"two documents", head + "---\n" + head, `p.yaml:4:1: more than one document`},
		{"no name, no module", "trainer: {}\n", "p.yaml:1:1: pipeline: missing, expected a name of a-z, 0-9 and -\n" +
			"p.yaml:1:1: module: missing, expected builtin:<name>, a TFX module file, a folder with a Go program, or a built one"},
		{"a name that is no name", "pipeline: a/b\nmodule: m\n",
			`p.yaml:1:1: pipeline: expected a name of a-z, 0-9 and -, at most 63, not beginning with -, got "a/b"`},
		{"unknown key", head + "trainer:\n  trian_args: {}\n", `p.yaml:4:3: trainer.trian_args: unknown key; did you mean train_args?`},
		{"unknown key like no other", head + "zzzzzzzz: 1\n", `p.yaml:3:1: zzzzzzzz: unknown key: expected one of pipeline, module, trainer, tuner, concurrency`},
		{"unknown keys in a flow mapping", head + "trainer: {train_args: {steps: 1, split: [a]}}\n",
			"p.yaml:3:24: trainer.train_args.steps: unknown key; did you mean num_steps?\n" +
				"p.yaml:3:34: trainer.train_args.split: unknown key; did you mean splits?"},
		{"text for a number", head + "trainer:\n  train_args:\n    num_steps: ten\n",
			`p.yaml:5:5: trainer.train_args.num_steps: expected a whole number, got text "ten"`},
		{"a quoted number", head + "trainer: {seed: '1'}\n", `p.yaml:3:11: trainer.seed: expected a whole number, got text "1"`},
		{"a float for a number", head + "trainer: {seed: 1.5}\n", `p.yaml:3:11: trainer.seed: expected a whole number, got number 1.5`},
		{"a number too large", head + "trainer: {seed: 9223372036854775808}\n",
			`p.yaml:3:11: trainer.seed: expected a whole number, got number 9223372036854775808`},
		{"a number for text", "pipeline: 7\nmodule: m\n", `p.yaml:1:1: pipeline: expected text, got number 7`},
		{"a truth for text", "pipeline: true\nmodule: m\n", `p.yaml:1:1: pipeline: expected text, got true`},
		{"text for a list", head + "trainer: {train_args: {splits: train}}\n",
			`p.yaml:3:24: trainer.train_args.splits: expected a list, got text "train"`},
		{"a list for a mapping", head + "trainer: {custom_config: [1]}\n",
			`p.yaml:3:11: trainer.custom_config: expected a mapping, got a list`},
		{"text for a mapping", head + "trainer: yes\n", `p.yaml:3:1: trainer: expected a mapping, got text "yes"`},
		{"an empty element", head + "trainer:\n  wait_for:\n  -\n", `p.yaml:5:5: trainer.wait_for[0]: expected a value, got nothing`},
		{"steps below zero", head + "trainer: {train_args: {num_steps: -5}}\n",
			`p.yaml:3:24: trainer.train_args.num_steps: expected at least 1, got -5; default: the module's choice; for an evaluation, the whole split`},
		{"a split that is a path", head + "trainer: {eval_args: {splits: [../x]}}\n",
			`p.yaml:3:32: trainer.eval_args.splits[0]: expected the name of a split, like train, got "../x"`},
		{"a split twice", head + "trainer: {eval_args: {splits: [a, a]}}\n", `p.yaml:3:35: trainer.eval_args.splits[1]: a is listed twice`},
		{"an unknown event", head + "trainer: {wait_for: [tranform]}\n",
			`p.yaml:3:22: trainer.wait_for[0]: expected one of ` + strings.Join(events.WaitWords(), ", ") + `, got "tranform"; did you mean transform?`},
		{"proto text with an unknown field", head + "trainer: {train_args: \"steps: 5\"}\n",
			`p.yaml:3:23: trainer.train_args: unknown field: steps; ` + argsForms},
		{"proto text of lines", head + "trainer:\n  eval_args: |\n    num_steps: 5\n    splits: train\n",
			`p.yaml:6:14: trainer.eval_args: invalid value for string type: train; ` + argsForms},
		{"JSON text of lines", head + "trainer:\n  eval_args: |\n    {\n    \"num_steps\": 1.5}\n",
			`p.yaml:6:14: trainer.eval_args: invalid value for int32 field numSteps: 1.5; ` + argsForms},
		{"more steps than an int32", head + "trainer:\n  train_args: 'num_steps: 2147483648'\n",
			`p.yaml:4:15: trainer.train_args: invalid value for int32 type: 2147483648; ` + argsForms},
		{"a scalar for args", head + "trainer: {train_args: yes}\n",
			`p.yaml:3:23: trainer.train_args: unknown field: yes; ` + argsForms},
		{"JSON that is cut", head + "trainer: {train_args: '{\"num_steps\": 1'}\n",
			`p.yaml:3:23: trainer.train_args: unexpected EOF; ` + argsForms},
		{"a list for args", head + "trainer: {train_args: [1]}\n",
			`p.yaml:3:11: trainer.train_args: expected a mapping like {num_steps: 100, splits: [train]}, or the same as JSON or proto text, got a list`},
		{"steps below zero in proto text", head + "trainer: {train_args: 'num_steps: -5'}\n",
			`p.yaml:3:23: trainer.train_args.num_steps: expected at least 1, got -5; default: the module's choice; for an evaluation, the whole split`},
		{"no steps", head + "trainer: {train_args: {num_steps: 0}}\n",
			`p.yaml:3:24: trainer.train_args.num_steps: expected at least 1, got 0; default: the module's choice; for an evaluation, the whole split`},
		{"no steps of an evaluation", head + "trainer: {eval_args: {num_steps: 0}}\n",
			`p.yaml:3:23: trainer.eval_args.num_steps: expected at least 1, got 0; default: the module's choice; for an evaluation, the whole split`},
		{"no steps in proto text", head + "trainer: {train_args: 'num_steps: 0'}\n",
			`p.yaml:3:23: trainer.train_args.num_steps: expected at least 1, got 0; default: the module's choice; for an evaluation, the whole split`},
		{"no steps in JSON text", head + "trainer: {train_args: '{\"num_steps\": 0}'}\n",
			`p.yaml:3:23: trainer.train_args.num_steps: expected at least 1, got 0; default: the module's choice; for an evaluation, the whole split`},
		{"a split twice in JSON text", head + "trainer: {eval_args: '{\"splits\": [\"a\", \"a\"]}'}\n", `p.yaml:3:22: trainer.eval_args.splits[1]: a is listed twice`},
		{"an event twice", head + "trainer: {wait_for: [transform, transform]}\n", `p.yaml:3:33: trainer.wait_for[1]: transform is listed twice`},
		{"waiting for hyperparameters that are not wanted", head + "trainer: {wait_for: [transform, hparams], hyperparameters: none}\n",
			`p.yaml:3:11: trainer.wait_for: waits for hparams, but hyperparameters is none`},
		{"the run's hyperparameters without waiting", head + "trainer: {wait_for: [transform], hyperparameters: run}\n",
			`p.yaml:3:11: trainer.wait_for: expected hparams in it, as hyperparameters is run`},
		{"unknown policy", head + "trainer: {hyperparameters: newest}\n",
			`p.yaml:3:11: trainer.hyperparameters: expected one of none, run, latest, auto, got "newest"`},
		{"base model that is no address", "pipeline: p\nmodule: m\ntrainer: {base_model: lastest}\n",
			`p.yaml:3:11: trainer.base_model: expected none, latest, blessed or an address like s3://bucket/model, got "lastest"; did you mean latest?`},
		{"a size without unit", head + "trainer: {resources: {memory: 8}}\n",
			`p.yaml:3:23: trainer.resources.memory: expected a size with its unit, like 8GiB, got "8"`},
		{"an unknown unit", head + "trainer: {resources: {memory: 8 gb}}\n",
			`p.yaml:3:23: trainer.resources.memory: unknown unit "gb" in size "8 gb", expected one of TiB, GiB, MiB, KiB, TB, GB, MB, kB, B`},
		{"a size too large", head + "trainer: {resources: {memory: 9000000000TiB}}\n",
			`p.yaml:3:23: trainer.resources.memory: size "9000000000TiB" is too large`},
		{"a duration without unit", head + "trainer: {resources: {timeout: 6}}\n",
			`p.yaml:3:23: trainer.resources.timeout: expected a duration with its unit, like 6h or 90m, got "6"`},
		{"a negative duration", head + "trainer: {resources: {timeout: -6h}}\n",
			`p.yaml:3:23: trainer.resources.timeout: duration "-6h" is negative`},
		{"a list for a duration", head + "trainer: {resources: {timeout: [6h]}}\n",
			`p.yaml:3:23: trainer.resources.timeout: expected text, got a list`},
		{"a bad class", head + "trainer: {resources: {class: GPU}}\n",
			`p.yaml:3:23: trainer.resources.class: expected 1 to 21 characters of a-z, 0-9 and -, beginning and ending with a letter or digit, got "GPU"`},
		{"no attempts", head + "trainer: {max_attempts: 0, max_crashes: -1}\n",
			"p.yaml:3:11: trainer.max_attempts: expected at least 1, got 0; default: 1\n" +
				"p.yaml:3:28: trainer.max_crashes: expected at least 1, got -1; default: 3"},
		{"no lost worker", head + "trainer: {max_lost: 0}\n", `p.yaml:3:11: trainer.max_lost: expected at least 1, got 0; default: 5`},
		{"no lost worker of a search", head + "tuner: {when: never, max_lost: -1}\n", `p.yaml:3:22: tuner.max_lost: expected at least 1, got -1; default: the trainer's`},
		{"a cache that is neither on nor off", head + "trainer: {cache: sometimes}\n",
			`p.yaml:3:11: trainer.cache: expected on or off, got "sometimes"`},
		{"an expiry of nothing", head + "trainer: {expire_after: 0s}\n",
			`p.yaml:3:11: trainer.expire_after: expected a duration above 0, or never`},
		{"an expiry without unit", head + "trainer: {expire_after: 7}\n",
			`p.yaml:3:11: trainer.expire_after: expected a duration with its unit, like 6h or 90m, got "7"`},
		{"an unknown format", head + "trainer: {exports: [onnx, tflite-int16]}\n",
			`p.yaml:3:27: trainer.exports[1]: expected one of tflite, tflite-float16, tflite-int8, onnx, got "tflite-int16"; did you mean tflite-int8?`},
		{"a skew check of no rows", head + "trainer: {skew: {rows: 0}}\n", `p.yaml:3:18: trainer.skew.rows: expected 1 to 100000, got 0; default: 100`},
		{"a tolerance that is none", head + "trainer: {skew: {tolerance: little}}\n", `p.yaml:3:18: trainer.skew.tolerance: expected a number, got text "little"`},
		{"a skew check in other words", head + "trainer: {skew: [1]}\n", `p.yaml:3:11: trainer.skew: expected on, off or a mapping like {rows: 100, tolerance: 1e-5}, got a list`},
		{"a model that is none", head + "trainer: {model: pickle}\n", `p.yaml:3:11: trainer.model: expected one of saved_model, any, got "pickle"`},
		{"a format twice", head + "trainer: {exports: [onnx, onnx]}\n", `p.yaml:3:27: trainer.exports[1]: onnx is listed twice`},
		{"a window below zero", head + "trainer: {window: -1}\n", `p.yaml:3:11: trainer.window: expected at least 0, got -1; default: 0`},
		{"no run at once", head + "concurrency: 0\n", `p.yaml:3:14: concurrency.runs: expected 1 to 1000, got 0`},
		{"too many runs at once", head + "concurrency: {runs: 1001}\n", `p.yaml:3:15: concurrency.runs: expected 1 to 1000, got 1001`},
		{"concurrency without a number", head + "concurrency: {newest: supersede}\n", `p.yaml:3:1: concurrency.runs: missing, expected a number of runs`},
		{"no word", head + "trainer: {model: ''}\n", `p.yaml:3:11: trainer.model: expected one of saved_model, any, got ""`},
		{"concurrency in words", head + "concurrency: one\n", `p.yaml:3:1: concurrency: expected a number of runs or a mapping like {runs: 1, newest: supersede}, got text "one"`},
		{"an unknown way to wait", head + "concurrency: {runs: 1, newest: superseed}\n",
			`p.yaml:3:24: concurrency.newest: expected one of queue, supersede, got "superseed"; did you mean supersede?`},
		{"a tuner without when", head + "tuner: {on_failed: fail}\n", `p.yaml:3:1: tuner.when: missing, expected never, always, changed or every: 7d, or another duration above 0`},
		{"an unknown when", head + "tuner: {when: nevr}\n",
			`p.yaml:3:9: tuner.when: expected one of never, always, changed, every, got "nevr"; did you mean never?`},
		{"an unknown on_failed", head + "tuner: {when: never, on_failed: go on}\n",
			`p.yaml:3:22: tuner.on_failed: expected one of latest, fail, got "go on"`},
		{"a search that nobody waits for", head + "trainer: {hyperparameters: latest}\ntuner: {when: always}\n",
			`p.yaml:4:9: tuner.when: always needs trainer.hyperparameters auto or run to use its result, got latest`},
		{"a search below zero", head + "tuner: {when: never, train_args: {num_steps: -1}}\n",
			`p.yaml:3:35: tuner.train_args.num_steps: expected at least 1, got -1; default: the module's choice; for an evaluation, the whole split`},
		{"no try of a search", head + "tuner: {when: never, max_attempts: 0}\n", `p.yaml:3:22: tuner.max_attempts: expected at least 1, got 0; default: the trainer's`},
		{"no crash of a search", head + "tuner: {when: never, max_crashes: -1}\n", `p.yaml:3:22: tuner.max_crashes: expected at least 1, got -1; default: the trainer's`},
		{"a class that is none", head + "tuner: {when: never, resources: {class: GPU}}\n",
			`p.yaml:3:34: tuner.resources.class: expected 1 to 21 characters of a-z, 0-9 and -, beginning and ending with a letter or digit, got "GPU"`},
		{"trials on several machines", head + "tuner: {when: never, resources: {strategy: multi_worker}}\n",
			`p.yaml:3:34: tuner.resources.strategy: expected one of mirrored, tpu, got "multi_worker"`},
		{"trials below zero", head + "tuner: {when: never, tune_args: {num_parallel_trials: -1}}\n",
			`p.yaml:3:34: tuner.tune_args.num_parallel_trials: expected 0 to 1000, got -1; default: 0`},
		{"more trials at once than a log takes", head + "tuner: {when: never, tune_args: {num_parallel_trials: 1001}}\n",
			`p.yaml:3:34: tuner.tune_args.num_parallel_trials: expected 0 to 1000, got 1001; default: 0`},
		{"a search now and then that nobody waits for", head + "trainer: {hyperparameters: latest}\ntuner: {when: {every: 7d}}\n",
			`p.yaml:4:9: tuner.when: every needs trainer.hyperparameters auto or run to use its result, got latest`},
		{"a drift beyond 1", head + "tuner: {when: changed, drift: 1.5}\n", `p.yaml:3:24: tuner.drift: expected 0 to 1, got 1.5; default: 0.1`},
		{"a drift that is asked by nothing", head + "tuner: {when: always, drift: 0.5}\n", `p.yaml:3:23: tuner.drift: applies only with when: changed, but when is always`},
		{"every without a time", head + "tuner: {when: every}\n", `p.yaml:3:9: tuner.when: expected every: 7d, or another duration above 0, got "every"`},
		{"every without a unit", head + "tuner: {when: {every: 7}}\n",
			`p.yaml:3:9: tuner.when: expected never, always, changed or every: 7d, or another duration above 0`},
		{"every at once", head + "tuner: {when: 'every: 0s'}\n", `p.yaml:3:9: tuner.when: expected every: 7d, or another duration above 0, got "every: 0s"`},
		{"when with two words", head + "tuner: {when: {every: 7d, changed: true}}\n",
			`p.yaml:3:9: tuner.when: expected never, always, changed or every: 7d, or another duration above 0`},
		{"a zero byte in a path", "pipeline: p\nmodule: \"m\\0.py\"\n", "p.yaml:2:1: module: holds a zero byte"},
		{"builtin without name", "pipeline: p\nmodule: 'builtin:'\n", `p.yaml:2:1: module: expected a name behind builtin:`},
		{"infinity in custom config", head + "trainer: {custom_config: {a: .inf}}\n", `p.yaml:3:30: inf is not supported`},
		{"a float too large", head + "trainer: {custom_config: {a: 1e999}}\n", `p.yaml:3:30: number 1e999 is too large`},
		{"a tag", head + "trainer: {custom_config: {a: !!binary aGk=}}\n", `p.yaml:3:30: tags (!!binary) are not supported`},
		{"a merge key", head + "trainer:\n  <<: {seed: 1}\n", `p.yaml:4:3: merge keys (<<) are not supported`},
		{"a key that is a number", head + "trainer: {custom_config: {1: 2}}\n", `p.yaml:3:27: expected a key that is plain text, got int`},
		{"an alias of nothing", head + "trainer: {custom_config: {a: *b}}\n", `p.yaml:3:30: alias *b names no anchor before it`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := pipeline.Parse("p.yaml", []byte(test.text))
			if err == nil || err.Error() != test.want {
				t.Errorf("error is\n%v\nwant\n%s", err, test.want)
			}
		})
	}
}

const argsForms = "expected a mapping like {num_steps: 100, splits: [train]}, or the same as JSON or proto text"

func TestWhatCanNotBeDoneYetIsRefused(t *testing.T) {
	t.Parallel()
	const head = "pipeline: p\nmodule: ./m\n"
	tests := []struct{ text, want string }{
		{head + "tuner: {when: always, resources: {workers: 2}}\n",
			`p.yaml:3:35: tuner.resources.workers: not supported yet: a search runs in one process`},
	}
	for _, test := range tests {
		_, err := pipeline.Parse("p.yaml", []byte(test.text))
		if err == nil || err.Error() != test.want {
			t.Errorf("error is\n%v\nwant\n%s", err, test.want)
		}
	}
}

func TestAFileCanNotCostMoreThanItIsWorth(t *testing.T) {
	t.Parallel()
	const head = "pipeline: p\nmodule: builtin:dnn\ntrainer:\n  custom_config:\n"
	laughs := head + "    a0: &a0 [1,2,3,4,5,6,7,8,9]\n"
	for i := range 9 {
		from, to := string(rune('0'+i)), string(rune('1'+i))
		laughs += "    a" + to + ": &a" + to + " [" + strings.Repeat("*a"+from+",", 9) + "]\n"
	}
	tests := []struct{ name, text, want string }{
		{"aliases of aliases", laughs, "more than 10000 values"},
		{"deep flow", head + "    a: " + strings.Repeat("[", 100_000), "nested more than 50 deep"},
		{"deep mappings", head + "    a: " + strings.Repeat("{a: ", 20_000), "nested more than 50 deep"},
		{"deep entries", head + "    " + strings.Repeat("- ", 100_000), "nested more than 50 deep"},
		{"deep keys", head + "    " + strings.Repeat("? ", 100_000), "nested more than 50 deep"},
		{"deep anchors", head + "    a: " + strings.Repeat("&a ", 50_000), "nested more than 50 deep"},
		{"deep colons", head + "    " + strings.Repeat("a: ", 50_000), ""},
		{"long", strings.Repeat("#\n", 200_000), "longer than 256 KiB"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := pipeline.Parse("p.yaml", []byte(test.text))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is %v, want %s", err, test.want)
			}
		})
	}
}
