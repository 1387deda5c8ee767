package replay_test

import (
	"context"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/admin/replay"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

// An event is in the log, but no dispatcher has handled it. The replay handles it.
func ExampleReplay() {
	ctx := context.Background()
	bus, store := bustest.NewMemory(0), storagetest.NewMemory()
	if err := prepare(ctx, bus); err != nil {
		fmt.Println(err)
		return
	}
	r, err := replay.New(ctx, bus, store, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := r.Survey(ctx, replay.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, step := range plan.Steps {
		fmt.Printf("run %s: %s: %s\n", step.Run.Run, step.Action, step.Why)
	}
	err = r.Do(ctx, plan, false, func(p replay.Progress) { fmt.Printf("run %s: %s\n", p.Step.Run.Run, p.Did) })
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// run monday: join: its join is lost
	// run monday: offered
}

func prepare(ctx context.Context, bus events.Bus) error {
	p, err := pipeline.Parse("penguin.yaml", []byte(plain))
	if err != nil {
		return err
	}
	if _, _, err := dispatch.Apply(ctx, bus, p); err != nil {
		return err
	}
	ready := &events.TransformReady{TransformGraph: "s3://inputs/monday"}
	_, err = bus.Publish(ctx, events.Event{ID: "t1", Source: "/up", Pipeline: "penguin", Run: "monday", Data: ready})
	return err
}
