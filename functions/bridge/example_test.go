package bridge_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/eventstest"
	"github.com/stoker-ml/stoker/functions/bridge"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

func Example() {
	ctx, box, store := context.Background(), eventstest.NewMemory(0), storagetest.NewMemory()
	for key, body := range map[string]string{"monday/Split-train/data.gz": "...", "monday/_SUCCESS": `{"pipeline": "penguin"}`} {
		if _, err := store.Put(ctx, storage.Ref{Bucket: "data", Key: key}, strings.NewReader(body), int64(len(body))); err != nil {
			fmt.Println(err)
		}
	}
	told := `{"Records": [{"eventName": "ObjectCreated:Put", "s3": {"bucket": {"name": "data"}, "object": {"key": "monday/_SUCCESS"}}}]}`
	if err := box.Inject(ctx, "buckets.data", nil, []byte(told)); err != nil {
		fmt.Println(err)
	}

	b, err := bridge.New(box, store, bridge.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := b.Next(ctx, time.Second); err != nil {
		fmt.Println(err)
	}
	for recorded := range box.Read(ctx, events.Query{}) {
		for _, e := range recorded.Fact.Data.(*events.ExamplesReady).Examples {
			fmt.Println(recorded.Fact.Pipeline, recorded.Fact.Run, e.URI, e.Splits)
		}
	}
	// Output: penguin monday s3://data/monday [train]
}
