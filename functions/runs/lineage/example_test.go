package lineage_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/runs/lineage"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

// A model was trained with a schema that has been changed since.
func ExampleOf() {
	ctx, bus, store := context.Background(), bustest.NewMemory(0), storagetest.NewMemory()
	schema := storage.Ref{Bucket: "artifacts", Key: "schema/17"}
	put := func(text string) {
		if _, err := store.Put(ctx, schema.Join("schema.pbtxt"), strings.NewReader(text), int64(len(text))); err != nil {
			fmt.Println(err)
		}
	}
	put("feature {}")
	listing, err := storage.List(ctx, store, schema)
	if err != nil {
		fmt.Println(err)
		return
	}
	job := events.Job{ID: "5f3a", Function: events.FunctionTrain, Pipeline: "penguin", Run: "17"}
	digest := "sha256:" + strings.Repeat("0a", 32)
	place := storage.Place{Root: storage.Ref{Bucket: "artifacts", Key: "penguin/Trainer"}, Execution: digest, Attempt: "attempt-1"}
	_, err = bus.Publish(ctx, events.NewModelTrained(job, &events.ModelTrained{
		Model:     events.Model{URI: place.Output("model").String(), Digest: digest, Formats: []string{"Format-Serving"}},
		Execution: digest, Module: "builtin:dnn@1", Metrics: map[string]float64{"accuracy": 0.93},
		Inputs: []events.Artifact{{Type: "Schema", URI: schema.String(), Digest: listing.Digest}},
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	put("feature { name: \"fare\" }")

	graph, err := lineage.Of(ctx, bus, store, "penguin/17", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, edge := range graph.Into(graph.Target) {
		from, _ := graph.Node(edge.From)
		fmt.Printf("%s %s %s\n", edge.Role, from.Name, from.State)
	}
	// Output:
	// schema 17 changed
	// module module
}
