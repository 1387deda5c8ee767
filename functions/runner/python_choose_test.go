package runner

import (
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner/python"
)

func TestAKerasThatIsNotThereIsRefusedBeforeAnythingStarts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		packages   map[string]string
		keras      string
		want, says string
		workers    int
	}{
		"3 of TensorFlow 2.15": {
			map[string]string{"tensorflow": "2.15.1", "keras": "2.15.0"}, "3", "",
			"has only Keras 2; Keras 3 needs TensorFlow 2.16 or later", 1,
		},
		"2 without tf_keras": {
			map[string]string{"tensorflow": "2.21.0", "keras": "3.15.1"}, "2", "",
			"has only Keras 3; add tf_keras to module.requirements", 1,
		},
		"auto of TensorFlow 2.15": {
			map[string]string{"tensorflow-cpu": "2.15.1", "keras": "2.15.0"}, "auto", "2",
			"Keras 2.15.0: this Python has no other", 1,
		},
		"left out, without tf_keras": {
			map[string]string{"tensorflow": "2.21.0", "keras": "3.15.1"}, "", "3",
			"Keras 3.15.1: this Python has no other", 1,
		},
		"2 by name": {
			map[string]string{"tensorflow": "2.21.0", "keras": "3.15.1", "tf-keras": "2.21.0"}, "2", "2",
			"Keras 2.21.0: module.keras says so", 1,
		},
		"2 for several workers": {
			map[string]string{"tensorflow": "2.21.0", "keras": "3.15.1", "tf-keras": "2.21.0"}, "2", "2",
			"Keras 2.21.0: several workers train with no other", 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ready := prepared{environment: python.Environment{Interpreter: "/py", Packages: c.packages}}
			source, a := module.Source{Keras: c.keras}, module.Assignment{Call: module.CallTrain, Workers: c.workers}
			choice, err := (&pythonRunner{}).chooseKeras(t.Context(), ready, source, a)
			said := choice.line(ready.environment)
			if err != nil {
				said = err.Error()
			}
			if choice.Version != c.want || choice.open || !strings.Contains(said, c.says) {
				t.Errorf("chose %+v, saying %s\nwant %q, saying %s", choice, said, c.want, c.says)
			}
		})
	}
}
