package tfxdsl

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/pipeline"
)

// Whatever calls a file reports, they become a valid pipeline or an error.
func FuzzPipeline(f *testing.F) {
	for _, text := range []string{
		`{"calls": [{"name": "tfx.Trainer", "line": 1, "kwargs": {"module_file": "m.py", "train_args": {"$call": 1}, "examples": {"$channel": "x", "of": 1}}}, {"name": "tfx.TrainArgs", "kwargs": {"num_steps": 1}}]}`,
		`{"calls": [{"name": "tfx.Trainer", "kwargs": {"module_file": "m.py", "custom_config": {"a": {"$name": "b"}}, "base_model": {"of": 1}, "hyperparameters": {"$call": 1}}}, {"name": "tfx.Tuner", "kwargs": {"tune_args": {"splits": [1]}}}]}`,
		`{"calls": [{"name": "tfx.Trainer", "kwargs": {"run_fn": "a.b.run_fn", "trainer_fn": 1, "eval_args": [], "base_model": {"of": -1}}}]}`,
		`{"calls": [{"name": "tfx.Trainer", "kwargs": {"module_file": "m.py", "x\u001b[2J\u202e": 1, "custom_config": {"a": "\u0085\u001b]0;x"}}}]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r := &Recorded{path: "p.py"}
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		if decoder.Decode(r) != nil {
			return
		}
		made, err := r.Pipeline()
		if err != nil {
			return
		}
		if _, err := pipeline.Parse("p.yaml", made); err != nil {
			t.Errorf("%v:\n%s", err, made)
		}
		if strings.ContainsFunc(string(made), acts) {
			t.Errorf("it acts on terminals: %q", made)
		}
	})
}
