package lineage_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/runs/lineage"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

var (
	noon  = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	graph = storage.Ref{Bucket: "bkt", Key: "data/transform_graph"}
)

// world is a bus and a store in memory, with a transform graph.
type world struct {
	*testing.T
	bus   *bustest.Memory
	store *storagetest.Memory
	input events.Artifact
}

func setup(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, bus: bustest.NewMemory(time.Minute), store: storagetest.NewMemory("bkt")}
	t.Cleanup(func() { _ = w.bus.Close() })
	w.put(graph.Join("saved_model.pb"), "graph")
	w.input = events.Artifact{Type: "TransformGraph", URI: graph.String(), Digest: w.digest(graph)}
	return w
}

func (w *world) put(ref storage.Ref, text string) {
	w.Helper()
	if _, err := w.store.Put(w.Context(), ref, strings.NewReader(text), int64(len(text))); err != nil {
		w.Fatal(err)
	}
}

func (w *world) digest(ref storage.Ref) string {
	w.Helper()
	listing, err := storage.List(w.Context(), w.store, ref)
	if err != nil {
		w.Fatal(err)
	}
	return listing.Digest
}

// made publishes an output of an execution, as a worker does, with a manifest that says how it was
// made.
func (w *world) made(component, key, typ, execution string, result map[string]any) (events.Artifact, storage.Place) {
	w.Helper()
	dir := w.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "made"), []byte(key+execution), 0o600); err != nil {
		w.Fatal(err)
	}
	story, err := json.Marshal(result)
	if err != nil {
		w.Fatal(err)
	}
	p := storage.Publication{
		Root: storage.Ref{Bucket: "bkt", Key: "penguin/" + component}, Execution: execution, Attempt: "a1",
		Outputs: map[string]storage.Source{key: {Type: typ, Dir: dir}}, Result: story,
	}
	m, err := storage.Publish(w.Context(), w.store, p)
	if err != nil {
		w.Fatal(err)
	}
	return events.Artifact{Type: typ, URI: m.Outputs[key].URI, Digest: m.Outputs[key].Digest}, p.Place()
}

// trained makes a run's model from inputs, and publishes its event.
func (w *world) trained(run string, n int, inputs ...events.Artifact) (events.Artifact, storage.Place) {
	w.Helper()
	execution := hexed(n)
	model, place := w.made("Trainer", "model", "Model", execution, map[string]any{
		"inputs": inputs, "module": "builtin:dnn@1", "metrics": map[string]float64{"loss": 0.5}, "started": noon, "finished": noon.Add(time.Minute),
		"hyperparameters": map[string]any{"units": 8},
	})
	data := &events.ModelTrained{
		Model: events.Model{URI: model.URI, Digest: model.Digest, Formats: []string{"Format-Serving"}}, Execution: execution,
		Inputs: inputs, Module: "builtin:dnn@1", Started: noon, Finished: noon.Add(time.Minute),
	}
	event := events.NewModelTrained(events.Job{Function: events.FunctionTrain, Pipeline: "penguin", Run: run}, data)
	if _, err := w.bus.Publish(w.Context(), event); err != nil {
		w.Fatal(err)
	}
	return model, place
}

func hexed(n int) string { return "sha256:" + fmt.Sprintf("%064x", n) }

func (w *world) of(ref string, o *lineage.Options) lineage.Graph {
	w.Helper()
	g, err := lineage.Of(w.Context(), w.bus, w.store, ref, o)
	if err != nil {
		w.Fatal(err)
	}
	return g
}

// one returns the only node of a kind.
func (w *world) one(g lineage.Graph, kind lineage.Kind) lineage.Node {
	w.Helper()
	all := kindsOf(g, kind)
	if len(all) != 1 {
		w.Fatalf("%d nodes are a %s, want 1: %+v", len(all), kind, g.Nodes)
	}
	return all[0]
}

func kindsOf(g lineage.Graph, kind lineage.Kind) (all []lineage.Node) {
	for _, n := range g.Nodes {
		if n.Kind == kind {
			all = append(all, n)
		}
	}
	return all
}

func hasEdge(g lineage.Graph, want lineage.Edge) bool { return slices.Contains(g.Into(want.To), want) }

// search writes the log of a study with that many trials, all of them completed.
func (w *world) search(study events.Study, trials int) {
	w.Helper()
	owner := tune.Owner{Job: "job", Attempt: "1"}
	entries := []tune.Entry{{Begun: &tune.Begun{Request: "job ", Config: tune.Config{
		Space: space.Space{{Name: "x", Kind: space.Float, Max: 1}}, Algorithm: tune.Algorithm{Name: tune.Random}, MaxTrials: trials,
		Objectives: []tune.Objective{{Name: "loss", Direction: tune.Min}},
	}}}}
	for n := range trials {
		id := fmt.Sprintf("%04d", n)
		suggestion := tune.Suggestion{Values: space.Values{{Name: "x", Of: 0.25 * float64(n+1)}}}
		entries = append(entries, tune.Entry{Started: []tune.Started{{Trial: id, Suggestion: &suggestion, Owner: owner}}}, tune.Entry{Ended: &tune.Ended{
			Trial: id, Owner: owner, Status: tune.Completed, Metrics: map[string]float64{"loss": float64(n + 1)},
		}})
	}
	after, previous := uint64(0), ""
	for _, e := range entries {
		e.Previous = previous
		body, err := e.Bytes()
		previous = tune.HashOf(body)
		if err == nil {
			after, err = w.bus.AppendStudy(w.Context(), study, body, after)
		}
		if err != nil {
			w.Fatal(err)
		}
	}
}

// pinned applies a pipeline, as its second revision, and pins that for a run.
func (w *world) pinned(run, spec string) {
	w.Helper()
	pipelines, err := w.bus.KV(w.Context(), events.KVPipelines)
	if err == nil {
		_, err = pipelines.Create(w.Context(), "penguin", []byte(`{"pipeline": "penguin", "module": "another.py"}`))
	}
	if err == nil {
		_, err = pipelines.Update(w.Context(), "penguin", []byte(spec), 1)
	}
	if err != nil {
		w.Fatal(err)
	}
	joins, err := w.bus.KV(w.Context(), events.KVJoins)
	if err == nil {
		join := fmt.Sprintf(`{"pipeline": "penguin", "run": %q, "state": "complete", "events": [{"sequence": 1}],
			"stages": [{"function": "train", "through": 1, "revision": 2}]}`, run)
		_, err = joins.Create(w.Context(), dispatch.JoinKey("penguin", run), []byte(join))
	}
	if err != nil {
		w.Fatal(err)
	}
}
