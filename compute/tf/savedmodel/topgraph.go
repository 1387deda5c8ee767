package savedmodel

import (
	"fmt"

	graphpb "github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	tensorpb "github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	versionpb "github.com/wamuir/graft/tensorflow/core/framework/versions_go_proto"
)

// The GraphDef version of TensorFlow 2.16, and its oldest reader: no op written here is newer.
const (
	oldestProducer = 1766
	oldestConsumer = 12
)

// topGraph is the graph outside all functions, as a session would run it.
type topGraph struct {
	nodes []*nodepb.NodeDef
	names map[string]bool

	producer, consumer int32 // GraphDef versions, see versions.proto
}

func newTopGraph() *topGraph {
	return &topGraph{names: map[string]bool{}, producer: oldestProducer, consumer: oldestConsumer}
}

// atLeast raises the graph's version to that of copied nodes, so that their ops keep their meaning.
func (g *topGraph) atLeast(v *versionpb.VersionDef) {
	g.producer, g.consumer = max(g.producer, v.GetProducer()), max(g.consumer, v.GetMinConsumer())
}

// node adds a node and returns its name, which is its first output too. Inputs are node, node:index
// or ^node.
func (g *topGraph) node(op, name string, a attrs, in ...string) string {
	name = uniqueName(g.names, nodeName(name))
	g.nodes = append(g.nodes, &nodepb.NodeDef{Name: name, Op: op, Attr: a, Input: in})
	return name
}

// call adds a call of f with the arguments, then its captures. It returns the call's name.
func (g *topGraph) call(name string, f *function, args ...string) string {
	for _, c := range f.captures {
		args = append(args, c.node)
	}
	return g.node("StatefulPartitionedCall", name, callAttrs(f.def), args...)
}

func (g *topGraph) constant(name string, value *tensorpb.TensorProto) string {
	return g.node("Const", name, attrs{"dtype": typeAttr(value.GetDtype()), "value": tensorAttr(value)})
}

func (g *topGraph) def(functions []*function) *graphpb.GraphDef {
	versions := &versionpb.VersionDef{Producer: g.producer, MinConsumer: g.consumer}
	return &graphpb.GraphDef{Node: g.nodes, Versions: versions, Library: library(functions)}
}

// outputOf returns the name of an output of a node of the top graph in signatures, with its index.
func outputOf(node string, index int) string {
	return fmt.Sprintf("%s:%d", node, index)
}
