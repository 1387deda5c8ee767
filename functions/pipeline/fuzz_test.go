package pipeline_test

import (
	"errors"
	"os"
	"testing"

	"github.com/stoker-ml/stoker/functions/pipeline"
)

// Whatever the input, Parse returns a pipeline whose JSON reads back to the same JSON, or an
// *Error.
func FuzzParse(f *testing.F) {
	full, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(full)
	f.Add([]byte("pipeline: p\nmodule: builtin:dnn\n"))
	f.Add([]byte(wholeStudy))
	f.Add([]byte(wordyStudy))
	f.Add([]byte(`{"pipeline": "p", "module": "m", "trainer": {"custom_config": {"a": [1e-3, "\u00e9", null]}}}`))
	f.Add([]byte("pipeline: p\nmodule: m\ntrainer:\n  train_args: 'num_steps: 5 splits: \"a\"'\n  eval_args: |\n    {\"numSteps\": 1}\n"))
	f.Add([]byte("? a\n: - &x {b: *x}\n- ---\n..."))
	f.Add([]byte("pipeline: p\nmodule: m\ntrainer: {resources: {timeout: 1d2h, memory: 1.5GB}}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := pipeline.Parse("fuzz.yaml", text)
		if err != nil {
			var known *pipeline.Error
			if !errors.As(err, &known) || len(known.Problems) == 0 {
				t.Fatalf("error of no known kind: %#v", err)
			}
			return
		}
		before := asJSON(t, p)
		again, err := pipeline.FromJSON(before)
		if err != nil {
			t.Fatalf("%s does not read back: %v", before, err)
		}
		if after := asJSON(t, again); string(after) != string(before) {
			t.Fatalf("%s becomes %s", before, after)
		}
	})
}
