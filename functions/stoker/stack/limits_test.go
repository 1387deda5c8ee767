package stack_test

import (
	"testing"

	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/worker"
)

// What `stoker pipelines show` prints as max_lost is what workers apply.
func TestTheDefaultOfMaxLostIsTheWorkers(t *testing.T) {
	t.Parallel()
	if pipeline.DefaultMaxLost != worker.DefaultLost {
		t.Errorf("pipeline: %d, worker: %d", pipeline.DefaultMaxLost, worker.DefaultLost)
	}
}
