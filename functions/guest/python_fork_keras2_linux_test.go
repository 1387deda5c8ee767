//go:build warm

package guest_test

import (
	"testing"

	"github.com/stoker-ml/stoker/functions/guest"
	"github.com/stoker-ml/stoker/functions/module"
)

func TestWarmTFXModulesRunTensorFlowWithKeras2Too(t *testing.T) {
	t.Parallel()
	checkForks(t, module.Keras2)
}

func TestWarmTFXModulesRunTensorFlowInIdleProcesses(t *testing.T) {
	t.Parallel()
	host := hostOf(t, guest.Options{Warm: 1, PythonWarm: guest.WarmIdle})
	if first, second := draw(t, host, module.Keras3, 1), draw(t, host, module.Keras3, 2); first.Mode != "idle" || second.Mode != "idle" {
		t.Errorf("first %+v, then %+v", first, second)
	}
}
