// Package demo holds a small real pipeline to try Stoker with: the Palmer penguins as TFX's own
// components prepared them (Examples, schema, transform graph, transformed examples and the Tuner's
// best hyperparameters), and the pipeline file that trains on them.
//
// It plays the part of upstream: it uploads artifacts and publishes events.
package demo

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"io/fs"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/storage"
)

//go:embed penguin.yaml
var pipelineFile []byte

//go:embed all:data
var data embed.FS

// PipelineName is the pipeline's own name in its file.
const PipelineName = "penguin"

// PipelineFile returns the name and the text of the pipeline file.
func PipelineFile() (name string, text []byte) { return "penguin.yaml", bytes.Clone(pipelineFile) }

// Upload copies the artifacts below root, as an upstream pipeline would have left them there.
// Uploading again has no effect.
func Upload(ctx context.Context, store storage.Store, root storage.Ref) error {
	return fs.WalkDir(data, "data", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		body, err := data.ReadFile(path)
		if err != nil {
			return err
		}
		ref := root.Join(path[len("data/"):])
		if _, err := store.Put(ctx, ref, bytes.NewReader(body), int64(len(body))); err != nil {
			return fmt.Errorf("upload %s: %w", ref, err)
		}
		return nil
	})
}

// Events returns the events that upstream publishes for one run of the uploaded artifacts:
// hyperparameters first, then the transform, which completes the join.
func Events(root storage.Ref, run string) []events.Event {
	event := func(kind string, data events.Data) events.Event {
		return events.Event{ID: run + "-" + kind, Source: "/stoker/demo", Pipeline: PipelineName, Run: run, Data: data}
	}
	return []events.Event{
		event("hparams", &events.HParamsReady{Hyperparameters: root.Join("best_hyperparameters").String()}),
		event("transform", &events.TransformReady{
			TransformGraph:      root.Join("transform_graph").String(),
			TransformedExamples: []events.Examples{{URI: root.Join("transformed_examples").String(), Splits: []string{"train", "eval"}}},
			Examples:            []events.Examples{{URI: root.Join("examples").String(), Splits: []string{"train", "eval"}}},
			Schema:              root.Join("schema").String(),
		}),
	}
}
