//go:build warm

package runner_test

import (
	"testing"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

func TestWarmTFXModulesRunTensorFlowWithKeras2Too(t *testing.T) {
	t.Parallel()
	checkForks(t, module.Keras2)
}

func TestWarmTFXModulesRunTensorFlowInIdleProcesses(t *testing.T) {
	t.Parallel()
	r := runnerOf(t, runner.Options{Warm: 1, PythonWarm: runner.WarmIdle})
	if first, second := draw(t, r, module.Keras3, 1), draw(t, r, module.Keras3, 2); first.Mode != "idle" || second.Mode != "idle" {
		t.Errorf("first %+v, then %+v", first, second)
	}
}
