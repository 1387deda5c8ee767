package tuner_test

import (
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
)

// A search whose trials train on a GPU is a different execution; apart from that, classes concern
// only the operator.
func TestASearchOnAGPUIsAnotherExecution(t *testing.T) {
	t.Parallel()
	b := setup(t, search)
	const text = "pipeline: penguin\nmodule: ./penguin_utils.py\ntrainer: {train_args: {num_steps: 100}}\ntuner: {when: always, resources: {class: CLASS}}\n"
	execution := map[string]string{}
	for _, class := range []string{"cpu", "gpu", "gpu-a100", "large"} {
		found, err := b.handle(t, job(t, "j-"+class, class, strings.Replace(text, "CLASS", class, 1)), events.Attempt{ID: "a-" + class, Number: 1})
		if err != nil {
			t.Fatal(err)
		}
		execution[class] = found.Execution
	}
	if execution["gpu"] == execution["cpu"] || execution["gpu-a100"] != execution["gpu"] || execution["large"] != execution["cpu"] {
		t.Errorf("executions %v", execution)
	}
}
