package builtin

import (
	"strings"
	"testing"
)

func TestOfSeveralMistakesTheFirstKeyIsNamed(t *testing.T) {
	t.Parallel()
	for range 20 {
		if err := (stepsConfig{ClipValue: -1, ClipNorm: -1, GlobalClipNorm: -1}).check(0.1); err == nil || !strings.Contains(err.Error(), ": clip_value:") {
			t.Fatal(err)
		}
		if err := (layersConfig{L1: -1, L2: -1}).check(); err == nil || !strings.Contains(err.Error(), ": l1:") {
			t.Fatal(err)
		}
	}
}
