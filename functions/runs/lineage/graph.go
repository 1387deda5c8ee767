package lineage

import (
	"encoding/json"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs"
)

// Graph is what a model was made from, directly and indirectly. It has no cycles: an edge leads
// from a thing to what was made from it.
type Graph struct {
	Target string `json:"target"` // ID of the node that was requested
	Nodes  []Node `json:"nodes"`  // each once; the target first, then by distance from it
	Edges  []Edge `json:"edges"`
}

// Node is one thing: an artifact, a module's code, a search or a trial of one.
type Node struct {
	ID   string `json:"id"` // the same for the same content at the same address, in every graph
	Kind Kind   `json:"kind"`
	Name string `json:"name"`          // for users: a run, a split, a module's path
	URI  string `json:"uri,omitempty"` // the artifact's address when it was read or written
	// Of what was read or written, sha256:<hex>; for a module, that of its code.
	Digest string `json:"digest,omitempty"`

	// The execution of Stoker that made it, if one did.
	Execution  string `json:"execution,omitempty"`
	Generation int    `json:"generation,omitempty"`
	// The pipeline of the first run that the execution worked for.
	Pipeline string    `json:"pipeline,omitempty"`
	Run      string    `json:"run,omitempty"`      // that run; "" if no event names it any more
	Revision uint64    `json:"revision,omitempty"` // of the pipeline; 0 if it is no longer known
	Started  time.Time `json:"started,omitzero"`

	// Configuration is the pipeline at Revision, with every default filled in and secrets hidden:
	// the configuration of the execution. It is left out if that revision is no longer known.
	Configuration json.RawMessage `json:"configuration,omitempty"`

	// Settings are the settings that the training of a model used, defaults included, as its module
	// reports them. They are left out if it reports none.
	Settings json.RawMessage `json:"settings,omitempty"`

	Finished time.Time `json:"finished,omitzero"`

	Values  map[string]any     `json:"values,omitempty"`  // of hyperparameters or a trial
	Metrics map[string]float64 `json:"metrics,omitempty"` // of a model or a trial
	Trials  int                `json:"trials,omitempty"`  // of a search: how many were begun
	Status  string             `json:"status,omitempty"`  // of a trial: COMPLETED, FAILED, ...

	State State  `json:"state,omitempty"` // how the store's present content compares with Digest
	Found string `json:"found,omitempty"` // its present digest, if that differs
	Why   string `json:"why,omitempty"`   // the reason for State and More, in words
	// The graph lacks what it was made from: no record of that is left, or Options.Depth ends here.
	More bool `json:"more,omitempty"`
}

// Edge says that To was made from From.
type Edge struct {
	From string `json:"from"`
	To   string `json:"to"`
	// What From was for To: a model that a model starts from is its BaseModel.
	Role Kind `json:"role"`
}

// Kind of a node, in the terms of TFX.
type Kind string

// The kinds.
const (
	Model           Kind = "model"
	Examples        Kind = "examples"
	Schema          Kind = "schema"
	Statistics      Kind = "statistics"
	TransformGraph  Kind = "transform_graph"
	Hyperparameters Kind = "hyperparameters"
	Module          Kind = "module"
	Search          Kind = "search" // for hyperparameters
	Trial           Kind = "trial"  // of a search

	BaseModel Kind = "base_model" // only as the role of an edge
)

// State is how the store's present content compares with what was read or written then.
type State string

// The states. "" is the state of a thing that is not in the store, or that was not compared.
const (
	Same    State = "same"
	Changed State = "changed"
	Gone    State = "gone"
	Unread  State = "unread" // the store did not allow reading it
)

// Options of Of.
type Options struct {
	Depth      int  // how many executions to go back; 0: to the beginning
	Trials     bool // all trials of a search, not only the best one
	Unverified bool // compare nothing with the store, which is faster; State stays empty

	// MakerOf returns a run whose job has done an execution, if the caller knows one: only the
	// events of that run are read then, and not those of the whole pipeline. nil: none is known.
	MakerOf func(execution string) (run runs.Key, known bool)
}

// kinds maps TFX's types to kinds.
var kinds = map[string]Kind{
	"Model": Model, "Examples": Examples, "Schema": Schema, "ExampleStatistics": Statistics, "TransformGraph": TransformGraph,
	"HyperParameters": Hyperparameters,
}

// Node finds a node by its ID.
func (g Graph) Node(id string) (Node, bool) {
	for _, n := range g.Nodes {
		if n.ID == id {
			return n, true
		}
	}
	return Node{}, false
}

// Into returns the edges that lead to a node, in the order of their roles: data first.
func (g Graph) Into(id string) []Edge {
	var all []Edge
	for _, e := range g.Edges {
		if e.To == id {
			all = append(all, e)
		}
	}
	return all
}

// Differing returns the nodes whose content has changed, or may have changed.
func (g Graph) Differing() []Node {
	var all []Node
	for _, n := range g.Nodes {
		if n.State != Same && n.State != "" {
			all = append(all, n)
		}
	}
	return all
}

func idOf(kind Kind, uri, digest string) string {
	return string(kind) + "-" + events.DerivedID(uri, digest)[:12]
}
