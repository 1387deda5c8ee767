package stack_test

import (
	"testing"

	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/worker"
)

// The max_lost that `stoker pipelines show` prints is the one that workers apply.
func TestTheDefaultOfMaxLostIsTheWorkers(t *testing.T) {
	t.Parallel()
	if pipeline.DefaultMaxLost != worker.DefaultLost {
		t.Errorf("pipeline: %d, worker: %d", pipeline.DefaultMaxLost, worker.DefaultLost)
	}
}
