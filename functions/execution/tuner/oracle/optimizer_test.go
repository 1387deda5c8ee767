package oracle_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

// continuation describes how a trial continued another: testdata/optimizer_state.py explains the
// fields.
type continuation struct {
	// Distance from the same step of an uninterrupted training; nil if their optimizers differ.
	Far   *float64
	Steps int
	Notes []string
}

// promoted has KerasTuner's Hyperband continue trials, with our driver's help or without.
func promoted(t *testing.T, run func(testing.TB, string, any, any), carry bool) (ways map[string]continuation) {
	t.Helper()
	script, err := os.ReadFile("testdata/optimizer_state.py")
	if err != nil {
		t.Fatal(err)
	}
	driver, err := filepath.Abs("../../../runner/python/driver")
	if err != nil {
		t.Fatal(err)
	}
	run(t, string(script), map[string]any{"driver": driver, "carry": carry}, &ways)
	return ways
}

// checkUnbroken checks that the step after a promotion is, to the bit, the one that the training
// would have made next.
func checkUnbroken(t *testing.T, ways map[string]continuation) {
	t.Helper()
	for way, steps := range map[string]int{"last epoch": 5, "best epoch": 3} {
		if w := ways[way]; w.Far == nil || *w.Far != 0 || w.Steps != steps {
			t.Errorf("%s: %+v: expected the step of an unbroken training, its %d.", way, w, steps)
		}
	}
}

func TestAPromotedTrialResumesItsOptimizer(t *testing.T) {
	t.Parallel()
	ways := promoted(t, tftest.Run, true)
	checkUnbroken(t, ways)
	if notes := ways["best epoch"].Notes; len(notes) != 1 || !strings.HasPrefix(notes[0], "the optimizer goes on from ") {
		t.Errorf("log: %q", notes)
	}
	for way, words := range map[string]string{
		"another class":   "adam is kept there, not adam_w",
		"other variables": "the variables that are kept there are not as those of adam",
	} {
		w := ways[way]
		said := strings.Join(w.Notes, "\n")
		if w.Steps != 1 || !strings.Contains(said, "the optimizer begins anew") || !strings.Contains(said, words) {
			t.Errorf("%s: %+v: expected an optimizer that begins anew, and %q", way, w, words)
		}
	}
}
