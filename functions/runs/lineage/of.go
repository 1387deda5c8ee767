package lineage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/storage"
)

// Of returns what a model was made from. ref names the model: its address or digest, an execution's
// digest or at least 8 digits of it, PIPELINE/RUN, or PIPELINE for the newest model of that. The
// error is events.ErrNotFound if there is no such model. o may be nil.
//
// If something is gone or has changed, that is not an error but is noted in its node; if the bus or
// the store does not answer, that is an error.
func Of(ctx context.Context, bus events.Bus, store storage.Store, ref string, o *Options) (Graph, error) {
	w := walk{nodes: map[string]int{}}
	if o != nil {
		w.Options = *o
	}
	w.records = records{bus: bus, store: store, pipelines: map[string]*pipelineEvents{}, makerOf: w.MakerOf}
	named, err := w.find(ctx, ref)
	if err != nil {
		return Graph{}, err
	}
	w.near = runs.Key{Pipeline: named.Pipeline, Run: named.Run}
	model := events.Artifact{Type: "Model", URI: named.URI, Digest: named.Digest}
	if w.graph.Target, err = w.artifact(ctx, model, 0); err != nil {
		return Graph{}, fmt.Errorf("lineage of %s: %w", ref, err)
	}
	for at := 0; at < len(w.later); at++ { // it grows meanwhile
		if err := w.behind(ctx, w.later[at]); err != nil {
			return Graph{}, fmt.Errorf("lineage of %s: %w", ref, err)
		}
	}
	if !w.Unverified {
		err = verify(ctx, &w)
	}
	return w.graph, err
}

// walk goes from a model to its inputs, breadth first.
type walk struct {
	Options
	records

	graph Graph
	nodes map[string]int // in graph.Nodes, by ID
	later []made         // executions whose inputs are still to be visited
}

// made is an artifact of one of Stoker's executions.
type made struct {
	node  string
	place storage.Place
	depth int
}

// add adds a node to the graph, if the graph lacks it.
func (w *walk) add(n Node) (id string, isNew bool) {
	n.ID = idOf(n.Kind, n.URI, n.Digest)
	if _, there := w.nodes[n.ID]; there {
		return n.ID, false
	}
	w.nodes[n.ID] = len(w.graph.Nodes)
	w.graph.Nodes = append(w.graph.Nodes, n)
	return n.ID, true
}

func (w *walk) node(id string) *Node { return &w.graph.Nodes[w.nodes[id]] }

func (w *walk) edge(from, to string, role Kind) {
	if e := (Edge{from, to, role}); !slices.Contains(w.graph.Edges, e) {
		w.graph.Edges = append(w.graph.Edges, e)
	}
}

// artifact adds an artifact, and queues the execution that made it, if that is one of Stoker's.
func (w *walk) artifact(ctx context.Context, a events.Artifact, depth int) (string, error) {
	n := Node{Kind: cmp.Or(kinds[a.Type], Kind(strings.ToLower(a.Type))), URI: strings.TrimSuffix(a.URI, "/"), Digest: a.Digest}
	n.Name = nameOf(n)
	id, isNew := w.add(n)
	ref, err := storage.ParseRef(a.URI)
	place, ours := storage.PlaceOf(ref)
	if !isNew || err != nil || !ours || n.Kind != Model && n.Kind != Hyperparameters {
		return id, nil
	}
	w.node(id).Execution = place.Execution
	if w.Depth > 0 && depth >= w.Depth {
		w.node(id).More, w.node(id).Why = true, "not followed further: the requested depth is reached"
		return id, nil
	}
	w.later = append(w.later, made{id, place, depth})
	return id, nil
}

// nameOf returns a name of an artifact for users: a split of examples, else the end of its address.
func nameOf(n Node) string {
	last := path.Base(n.URI)
	if split, ok := strings.CutPrefix(last, "Split-"); ok {
		return path.Base(path.Dir(n.URI)) + " " + split
	}
	return last
}

// behind adds all inputs of an execution.
func (w *walk) behind(ctx context.Context, m made) error {
	found, err := w.record(ctx, m.place)
	if errors.Is(err, errNoRecord) {
		n := w.node(m.node)
		n.More, n.Why = true, err.Error()
		return nil
	}
	if err != nil {
		return err
	}
	n := w.node(m.node)
	n.Pipeline, n.Run, n.Revision, n.Generation = found.pipeline, found.run, found.revision, found.generation
	n.Started, n.Finished, n.Configuration = found.Started, found.Finished, found.configuration
	n.Name = cmp.Or(found.run, n.Name)
	if n.Kind == Hyperparameters {
		n.Values = found.Values
		return w.search(ctx, m, found)
	}
	n.Metrics, n.Settings = found.Metrics, found.Settings
	return w.inputs(ctx, m.node, found, m.depth+1)
}

// inputs adds what an execution read: its artifacts, its module, and the values of hyperparameters.
func (w *walk) inputs(ctx context.Context, to string, found record, depth int) error {
	for _, in := range found.Inputs {
		id, err := w.artifact(ctx, in, depth)
		if err != nil {
			return err
		}
		role := w.node(id).Kind
		if role == Model {
			role = BaseModel
		}
		if role == Hyperparameters && w.node(id).Values == nil {
			w.node(id).Values = found.Hyperparameters
		}
		w.edge(id, to, role)
	}
	if found.Module != "" {
		id, _ := w.add(Node{Kind: Module, Name: cmp.Or(found.module, "module"), URI: found.moduleAddress(), Digest: found.Module})
		w.edge(id, to, Module)
	}
	return nil
}
