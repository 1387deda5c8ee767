package watch_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/runs/watch"
)

// The events of one pipeline are printed as they are in the log, until hyperparameters are ready.
func ExampleLines() {
	ctx, bus := context.Background(), bustest.NewMemory(0)
	for _, event := range []events.Event{
		{ID: "e1", Source: "/tfx", Pipeline: "penguin", Run: "17", Data: &events.TransformReady{TransformGraph: "s3://tfx/graph/17"}},
		{ID: "e2", Source: "/tfx", Pipeline: "taxi", Run: "17", Data: &events.TransformReady{TransformGraph: "s3://tfx/taxi/17"}},
		{ID: "e3", Source: "/tfx", Pipeline: "penguin", Run: "17", Data: &events.HParamsReady{Hyperparameters: "s3://tfx/hparams/17"}},
	} {
		if _, err := bus.Publish(ctx, event); err != nil {
			fmt.Println(err)
			return
		}
	}
	enough := errors.New("enough")
	kinds := []string{string(events.KindTransformReady), string(events.KindHParamsReady)}
	err := watch.Lines(ctx, bus, watch.Options{Pipeline: "penguin", Kinds: kinds, All: true}, func(line watch.Line) error {
		fmt.Println(line.Sequence, line.Kind, line.Run, line.What)
		if line.Kind == string(events.KindHParamsReady) {
			return enough
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// 1 transform.ready 17 s3://tfx/graph/17
	// 3 hparams.ready 17 s3://tfx/hparams/17
	// enough
}
