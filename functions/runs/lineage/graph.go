package lineage

import (
	"encoding/json"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// Graph is what made a model, and what made that. It has no cycles: an edge leads from what was
// there before to what was made of it.
type Graph struct {
	Target string `json:"target"` // ID of the node that was asked for
	Nodes  []Node `json:"nodes"`  // each once; the target first, then by distance from it
	Edges  []Edge `json:"edges"`
}

// Node is one thing: an artifact, a module's code, a search or a trial of one.
type Node struct {
	ID     string `json:"id"` // the same for the same content at the same address, in every graph
	Kind   Kind   `json:"kind"`
	Name   string `json:"name"`             // for people: a run, a split, a module's path
	URI    string `json:"uri,omitempty"`    // where an artifact lay when it was read or written
	Digest string `json:"digest,omitempty"` // of what was read or written, sha256:<hex>; of a module, that of its code

	Execution  string    `json:"execution,omitempty"` // that made it, where that was one of Stoker's
	Generation int       `json:"generation,omitempty"`
	Pipeline   string    `json:"pipeline,omitempty"` // whose run that execution worked for first
	Run        string    `json:"run,omitempty"`      // that run; "" if no event says so any more
	Revision   uint64    `json:"revision,omitempty"` // of the pipeline; 0 if that is not known any more
	Started    time.Time `json:"started,omitzero"`

	// Configuration is the pipeline at Revision, with every default filled in and secrets hidden:
	// what the execution was asked to do. Left out where that revision is not known any more.
	Configuration json.RawMessage `json:"configuration,omitempty"`

	// Settings are what the training of a model used, defaults included, as its module says. Left
	// out where it says nothing.
	Settings json.RawMessage `json:"settings,omitempty"`

	Finished time.Time `json:"finished,omitzero"`

	Values  map[string]any     `json:"values,omitempty"`  // of hyperparameters, or of a trial
	Metrics map[string]float64 `json:"metrics,omitempty"` // of a model, or of a trial
	Trials  int                `json:"trials,omitempty"`  // of a search: how many were begun
	Status  string             `json:"status,omitempty"`  // of a trial: COMPLETED, FAILED, ...

	State State  `json:"state,omitempty"` // how what is in the store now compares with Digest
	Found string `json:"found,omitempty"` // the digest that it has now, if that is another
	Why   string `json:"why,omitempty"`   // what State and More are due to, in words
	More  bool   `json:"more,omitempty"`  // what made it is not in the graph: no record of it is left, or Options.Depth ends here
}

// Edge says that From was needed to make To.
type Edge struct {
	From string `json:"from"`
	To   string `json:"to"`
	Role Kind   `json:"role"` // what From was to To: a model is BaseModel to a model
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

// State is how the store's contents now compare with what was read or written then.
type State string

// The states. "" is a thing that is not in the store, or that was not compared.
const (
	Same    State = "same"
	Changed State = "changed"
	Gone    State = "gone"
	Unread  State = "unread" // the store did not let it be read
)

// Options of Of.
type Options struct {
	Depth      int  // how many executions to go back; 0: to the beginning
	Trials     bool // all trials of a search, not only its best
	Unverified bool // compare nothing with the store: quicker, and State stays empty
}

// kinds are those of TFX's types.
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

// Into are the edges that lead to a node, in the order of their roles: data first.
func (g Graph) Into(id string) []Edge {
	var all []Edge
	for _, e := range g.Edges {
		if e.To == id {
			all = append(all, e)
		}
	}
	return all
}

// Differing are the nodes whose content is not, or not provably, what it was.
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
