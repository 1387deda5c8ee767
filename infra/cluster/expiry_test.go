package cluster

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/runs"
)

// The clock of the server that leads everything jumps beyond the time for which a run may wait: the
// run continues to wait, and is trained when its second event arrives.
func TestARunOutlivesAJumpOfTheLeadersClock(t *testing.T) {
	t.Parallel()
	c := startLagging(t)
	waits := pipelineOf(t, "pipeline: paired\nmodule: builtin:dnn\ntrainer: {wait_for: [transform, hparams], hyperparameters: run, expire_after: 1h}\n")
	if _, _, err := dispatch.Apply(t.Context(), c.leader, waits); err != nil {
		t.Fatal(err)
	}
	d, err := dispatch.New(t.Context(), c.late, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	d.SweepEvery = 200 * time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = d.Run(ctx) })
	defer func() { stop(); running.Wait() }()
	publish(t, c.leader, event("paired", "monday"))
	eventually(t, func() bool {
		join, err := runs.Open(c.leader, runs.Options{}).Join(t.Context(), runs.Key{Pipeline: "paired", Run: "monday"})
		return err == nil && len(join.Events) == 1
	})
	if err := c.Servers[0].SetClock(2 * time.Hour); err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * d.SweepEvery) // sweeps that would end it
	publish(t, c.leader, events.Event{ID: "h", Source: "/up", Pipeline: "paired", Run: "monday", Data: &events.HParamsReady{Hyperparameters: "s3://bkt/h"}})
	claim(t, c.leader, "monday")
}
