package reproduce_test

import (
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/reproduce"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// A different model is explained if its job left the order of sums to chance, and only then.
func TestADifferentModelIsExplained(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"pipeline: p\nmodule: s3://b/m.py\n":                                       true,
		"pipeline: p\nmodule: s3://b/m.py\ntrainer: {deterministic: on}\n":         false,
		"pipeline: p\nmodule: builtin:dnn\ntrainer: {custom_config: {label: a}}\n": false,
	} {
		p, err := pipeline.Parse("p.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		spec, err := p.JSON()
		if err != nil {
			t.Fatal(err)
		}
		for _, same := range []bool{false, true} {
			r := reproduce.Report{Same: same}
			r.Explain(events.Job{Spec: spec})
			if got := strings.Contains(r.Hint, "deterministic: on"); got != (want && !same) {
				t.Errorf("%q, same %v: hint %q", text, same, r.Hint)
			}
		}
	}
}
