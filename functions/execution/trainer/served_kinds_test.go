//go:build tfx

package trainer_test

import (
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/module"
)

func TestRightModulesOfAllKindsPass(t *testing.T) {
	t.Parallel()
	testRightModules(t, module.Keras3, map[string]string{"raw": "",
		"named": "", "sequences": "", "exported": "", "one_by_one": "", "otherwise": "", "heads": "", "unnamed": "",
		"best": "", "best_then_trained": "", "weights_read": "", "averaged": "", "never_trained": "no training was seen", "reported": "", "own_reader": "", "scaled": "no output of the signature", "of_text": "takes strings",
	})
}

// A model that was written in an unusual state is compared in that state, and a note describes what
// is unusual.
func TestModelsOfAnotherStateAreComparedAndSaid(t *testing.T) {
	t.Parallel()
	host := servedRunner(t)
	for kind, want := range map[string]string{
		"fresh":        "was never seen to be trained or to read weights: the files may hold the weights that it began with",
		"weights_read": "the files hold other weights than the model that was trained last: compared with the model that was written, as it was then",
		"averaged":     "the files hold other weights than the model that was trained last",
	} {
		for _, keras := range []string{module.Keras3, module.Keras2} {
			published, err := serves(t, host, kind, keras)
			if err != nil {
				t.Fatal(err)
			}
			if s := published.Skew; s == nil || s.NotCompared != "" || s.Rows == 0 || !strings.Contains(s.Note, want) {
				t.Errorf("%s with %s: skew %+v, want the note %q", kind, keras, s, want)
			}
		}
	}
}

func TestRightModulesOfKeras2Pass(t *testing.T) {
	t.Parallel()
	testRightModules(t, module.Keras2, map[string]string{"plain": "", "saved_by_keras": "", "heads": "",
		"best": "", "weights_read": "", "best_then_trained": "", "averaged": "", "never_trained": "no training was seen"})
}

func TestBrokenModulesOfAllKindsAreRefused(t *testing.T) {
	t.Parallel()
	testBrokenModules(t, map[string]string{
		"raw_forgets": `output "probabilities"`, "forgets_logits": `output "scores"`, "forgets_names": `output "class"`, "forgets_unnamed": `output "probabilities"`,
		"forgets_reported": `output "probabilities"`, "needs_label_silently": `without the label "species"`, "untrained": `output "probabilities"`,
		"sequences_doubled": `output "sold"`, "sequences_label": `without the label "sold"`, "swapped": `output "probabilities"`, "weights_read_forgets": `output "probabilities"`, "at_random": `output "probabilities"`,
	})
}

func TestRightModulesOfAllKindsPassWithoutRawExamples(t *testing.T) {
	t.Parallel()
	testRightWithoutRaw(t, map[string]string{
		"logits": "", "named": "no output of the signature", "otherwise": "", "one_by_one": "", "heads": "", "best": "", "best_then_trained": "", "weights_read": "", "averaged": "",
		"reported": "", "own_reader": "", "asserts": "", "scaled": "no output of the signature", "unnamed": "", "unnamed_scaled": "which of them its numbers are is not certain", "silent": "the model in memory was not asked for them",
	})
}

func TestBrokenModulesOfAllKindsAreRefusedWithoutRawExamples(t *testing.T) {
	t.Parallel()
	testBrokenWithoutRaw(t, map[string]string{
		"forgets_logits": syntheticSkew, "forgets_names": syntheticSkew, "forgets_unnamed": syntheticSkew, "forgets_reported": syntheticSkew, "swapped": syntheticSkew,
		"weights_read_forgets": syntheticSkew, "untrained": syntheticSkew, "at_random": syntheticSkew,
	})
}
