//go:build tfx

package trainer_test

import (
	"testing"

	"github.com/stoker-ml/stoker/functions/module"
)

func TestRightModulesOfAllKindsPass(t *testing.T) {
	t.Parallel()
	testRightModules(t, module.Keras3, map[string]string{"raw": "",
		"named": "", "sequences": "", "exported": "", "one_by_one": "", "otherwise": "", "heads": "", "unnamed": "",
		"best": "other weights", "reported": "", "own_reader": "", "scaled": "no output of the signature", "of_text": "takes strings",
	})
}

func TestRightModulesOfKeras2Pass(t *testing.T) {
	t.Parallel()
	testRightModules(t, module.Keras2, map[string]string{"plain": "", "saved_by_keras": "", "heads": ""})
}

func TestBrokenModulesOfAllKindsAreRefused(t *testing.T) {
	t.Parallel()
	testBrokenModules(t, map[string]string{
		"raw_forgets": `output "probabilities"`, "forgets_logits": `output "scores"`, "forgets_names": `output "class"`, "forgets_unnamed": `output "probabilities"`,
		"forgets_reported": `output "probabilities"`, "needs_label_silently": `without the label "species"`, "untrained": `output "probabilities"`,
		"sequences_doubled": `output "sold"`, "sequences_label": `without the label "sold"`, "swapped": `output "probabilities"`, "at_random": `output "probabilities"`,
	})
}
