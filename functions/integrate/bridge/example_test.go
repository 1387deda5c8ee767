package bridge_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/integrate/bridge"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

func Example() {
	ctx, bus, store := context.Background(), bustest.NewMemory(0), storagetest.NewMemory()
	for key, body := range map[string]string{"monday/Split-train/data.gz": "...", "monday/_SUCCESS": `{"pipeline": "penguin"}`} {
		if _, err := store.Put(ctx, storage.Ref{Bucket: "data", Key: key}, strings.NewReader(body), int64(len(body))); err != nil {
			fmt.Println(err)
		}
	}
	message := `{"Records": [{"eventName": "ObjectCreated:Put", "s3": {"bucket": {"name": "data"}, "object": {"key": "monday/_SUCCESS"}}}]}`
	if err := bus.Inject(ctx, "buckets.data", nil, []byte(message)); err != nil {
		fmt.Println(err)
	}

	b, err := bridge.New(bus, store, bridge.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := b.Next(ctx, time.Second); err != nil {
		fmt.Println(err)
	}
	for recorded := range bus.Read(ctx, events.Query{}) {
		for _, e := range recorded.Event.Data.(*events.ExamplesReady).Examples {
			fmt.Println(recorded.Event.Pipeline, recorded.Event.Run, e.URI, e.Splits)
		}
	}
	// Output: penguin monday s3://data/monday [train]
}
