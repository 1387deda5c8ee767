package serve

import (
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/runs/workers"
	"github.com/stoker-ml/stoker/functions/telemetry"
)

func TestTheWorkersOfEachQueueAreCounted(t *testing.T) {
	t.Parallel()
	worker := func(presence events.Presence, classes ...string) workers.Worker {
		status := events.WorkerStatus{Functions: []events.Function{events.FunctionTrain, events.FunctionTrial}, Classes: classes, Slots: 1}
		return workers.Worker{WorkerHeartbeat: events.WorkerHeartbeat{WorkerStatus: status}, Presence: presence}
	}
	known := []workers.Worker{worker(events.WorkerAlive, "cpu", "big-mem"), worker(events.WorkerAlive, "cpu"), worker(events.WorkerIsLate, "gpu"), worker(events.WorkerDraining, "gpu")}
	got := servingOf(known, []jetstream.Lag{{Consumer: "train-cpu"}, {Consumer: "trial-big-mem"}, {Consumer: "train-gpu"}})
	want := []telemetry.Serving{
		{Function: "train", Class: "cpu", Consumer: "train-cpu", Workers: 2}, {Function: "trial", Class: "big-mem", Consumer: "trial-big-mem", Workers: 1},
		{Function: "train", Class: "gpu", Consumer: "train-gpu"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
