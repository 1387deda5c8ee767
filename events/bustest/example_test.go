package bustest_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
)

// The in-memory bus keeps the contract of every bus: an event is stored once, and another event
// with its id is refused.
func ExampleMemory() {
	ctx, bus := context.Background(), bustest.NewMemory(0)
	defer bus.Close()
	event := events.Event{ID: "graph-17", Source: "/tfx", Pipeline: "penguin", Run: "17", Data: &events.TransformReady{TransformGraph: "s3://tfx/graph/17"}}
	for range 2 {
		receipt, err := bus.Publish(ctx, event)
		fmt.Println(receipt.Sequence, receipt.Duplicate, err)
	}
	event.Data = &events.TransformReady{TransformGraph: "s3://tfx/graph/18"}
	_, err := bus.Publish(ctx, event)
	fmt.Println(errors.Is(err, events.ErrConflict))
	// Output:
	// 1 false <nil>
	// 1 true <nil>
	// true
}
