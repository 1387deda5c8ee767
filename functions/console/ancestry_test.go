package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/data/tfrecord"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/storage"
)

// folder puts files into the store, and returns the artifact.
func (w *world) folder(kind, address string, files map[string]string) events.Artifact {
	w.t.Helper()
	for name, text := range files {
		w.shelve(address+"/"+name, text)
	}
	ref, err := storage.ParseRef(address)
	if err != nil {
		w.t.Fatal(err)
	}
	listing, err := storage.List(w.t.Context(), w.store, ref)
	if err != nil {
		w.t.Fatal(err)
	}
	return events.Artifact{Type: kind, URI: address, Digest: listing.Digest}
}

// records returns a file of Examples: records with two features of three values.
func (w *world) records() string {
	w.t.Helper()
	var file bytes.Buffer
	out := tfrecord.NewGzipWriter(&file)
	for range 3 {
		// Features of a tf.Example in protocol buffer encoding: a map from names to lists of int64.
		var features []byte
		for _, name := range []string{"culmen_length_mm", "species"} {
			entry := append([]byte{0x0a, byte(len(name))}, name...)
			entry = append(entry, 0x12, 7, 0x1a, 5, 0x0a, 3, 1, 2, 3)
			features = append(append(features, 0x0a, byte(len(entry))), entry...)
		}
		if err := out.Append(append([]byte{0x0a, byte(len(features))}, features...)); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		w.t.Fatal(err)
	}
	return file.String()
}

// manyFiles puts a folder of 450 files into the store.
func (w *world) manyFiles() {
	w.t.Helper()
	for i := range 450 {
		w.shelve(fmt.Sprintf("s3://bkt/data/penguin/many/%04d-settings.json", i), `{"units": [8, 16, 32], "optimizer": {"name": "adam", "learning_rate": 0.001, "api_key": "hunter2"}}`)
	}
}

// trainedFrom publishes the model of a run as a worker does: its files, its manifest, and the
// event. It returns the model's address.
func (w *world) trainedFrom(run string, n int, files map[string]string, inputs ...events.Artifact) events.Artifact {
	w.t.Helper()
	dir := w.t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			w.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	started, finished := time.Unix(1e9, 0).UTC(), time.Unix(1e9+60, 0).UTC()
	text, err := json.Marshal(map[string]any{"job": "job-" + run, "module": digest, "inputs": inputs, "started": started, "finished": finished, "attempts": 1,
		"environment": map[string]any{"host": "gpu-7", "worker": "gpu-7-x3k2ab", "image": "registry.example/stoker:v1.0.0-python", "stoker": "v1.0.0", "platform": "linux/amd64",
			"python": "3.11.7", "tensorflow": "2.19.0", "keras": "3.9.2", "gpus": []string{"0", "1"}}})
	if err != nil {
		w.t.Fatal(err)
	}
	p := storage.Publication{
		Root: storage.Ref{Bucket: "bkt", Key: "penguin/Trainer"}, Execution: fmt.Sprintf("sha256:%064x", n), Attempt: "a1",
		Outputs: map[string]storage.Source{"model": {Type: "Model", Dir: dir}}, Result: text,
	}
	m, err := storage.Publish(w.t.Context(), w.store, p)
	if err != nil {
		w.t.Fatal(err)
	}
	model := m.Outputs["model"]
	w.publish(events.NewModelTrained(events.Job{Function: events.FunctionTrain, Pipeline: "penguin", Run: run}, &events.ModelTrained{
		Model: events.Model{URI: model.URI, Digest: model.Digest, Formats: []string{"Format-Serving"}}, Execution: p.Execution,
		Inputs: inputs, Module: digest, Metrics: map[string]float64{"accuracy": 0.9}, Started: started, Finished: finished, Attempts: 1,
	}))
	return events.Artifact{Type: "Model", URI: model.URI, Digest: model.Digest}
}

// descended makes the run fine-tuned, whose model starts from that of the run base: the lineage of
// both has what changed since.
func (w *world) descended() {
	w.t.Helper()
	graph := w.folder("TransformGraph", "s3://bkt/data/penguin/transform_graph/17", map[string]string{
		"metadata/schema.pbtxt": "feature { name: \"culmen_length_mm\" }", "transform_fn/saved_model.pb": "\x08\x01graph",
	})
	schema := w.folder("Schema", "s3://bkt/data/penguin/schema/17", map[string]string{"schema.pbtxt": "feature {}"})
	train := w.folder("Examples", "s3://bkt/data/penguin/transformed_examples/17/Split-train", map[string]string{"part-0.gz": w.records()})
	eval := w.folder("Examples", "s3://bkt/data/penguin/transformed_examples/17/Split-eval", map[string]string{"part-0.gz": w.records()})
	model := map[string]string{"Format-Serving/saved_model.pb": "\x08\x01model", "Format-Serving/variables/variables.index": "index"}
	base := w.trainedFrom("base", 1, model, graph, schema, train, eval)
	w.trainedFrom("fine-tuned", 2, model, graph, train, eval, base)
	w.shelve("s3://bkt/data/penguin/schema/17/schema.pbtxt", "feature { name: \"changed\" }")
}

// The list that phones show has each thing once with its inputs, and leads from an input to what
// that was made from.
func TestALineageIsAListToo(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.apply(penguin)
	w.descended()
	page := w.sees("/lineage?pipeline=penguin&run=fine-tuned", `class="ancestry"`)
	_, list, _ := strings.Cut(page, `<ol class="ancestry"`)
	list, _, _ = strings.Cut(list, "</ol>")
	for _, anchor := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(list, -1) {
		if strings.Count(list, `id="`+anchor[1]+`"`) != 1 {
			t.Errorf("%d elements have the id %s", strings.Count(list, `id="`+anchor[1]+`"`), anchor[1])
		}
	}
	var names []string
	for _, name := range regexp.MustCompile(`class="kind">([^<]+)</span><[ab] class="name"[^>]*>([^<]+)<`).FindAllStringSubmatch(list, -1) {
		names = append(names, name[1]+" "+name[2])
	}
	want := []string{
		"model fine-tuned", "transform graph 17", "examples 17 train", "examples 17 eval", "base model base", "module module",
		"model base", "transform graph 17", "schema · changed 17", "examples 17 train", "examples 17 eval", "module module",
	}
	if !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}
