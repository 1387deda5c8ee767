package savedmodel

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/tf/ops"
)

// port is a tensor of a top graph: an output of a node.
type port struct {
	node  string
	place int
}

// portOf reads node or node:index.
func portOf(reference string) (port, error) {
	name, index, found := strings.Cut(reference, ":")
	if !found {
		return port{node: name}, nil
	}
	place, err := strconv.ParseUint(index, 10, 16)
	if err != nil {
		return port{}, fmt.Errorf("tensor %q: %w", reference, err)
	}
	return port{name, int(place)}, nil
}

func (p port) String() string {
	if p.place == 0 {
		return p.node
	}
	return outputOf(p.node, p.place)
}

// copying makes a function of a part of the top graph: it copies nodes, each after those that it
// needs, up to the arguments and captures of the function.
type copying struct {
	*function
	graph  *oldGraph
	values map[port]edge     // arguments, by the tensor that they replace
	copies map[string]string // by node: the name of its copy; "" until the copy exists
}

// maxCopied limits the nodes of a function.
const maxCopied = 1 << 17

func (g *oldGraph) copying(f *function) *copying {
	return &copying{function: f, graph: g, values: map[port]edge{}, copies: map[string]string{}}
}

// value returns the function's own tensor for one of the top graph.
func (c *copying) value(reference string) (edge, error) {
	p, err := portOf(reference)
	if err != nil {
		return "", err
	}
	if argument, ok := c.values[p]; ok {
		return argument, nil
	}
	if captured, ok, err := c.graph.object(p); ok || err != nil {
		return c.capture(captured), err
	}
	name, err := c.copy(p.node)
	if err != nil {
		return "", err
	}
	node := c.graph.model.Node(p.node)
	if op := node.GetOp(); slices.Contains(silentOps, op) || slices.Contains(fillingOps, op) {
		return "", fmt.Errorf("node %s (%s) has no output %d", p.node, op, p.place)
	}
	return edge(name + ":" + ops.OutputName(node, p.place)), nil
}

// copy copies a node, and before it all nodes that it needs.
func (c *copying) copy(name string) (string, error) {
	if done, ok := c.copies[name]; ok {
		if done == "" {
			return "", fmt.Errorf("node %s needs its own output", name)
		}
		return done, nil
	}
	node := c.graph.model.Node(name)
	if node == nil {
		return "", fmt.Errorf("graph has no node %q", name)
	}
	if err := portable(node); err != nil {
		return "", fmt.Errorf("node %s: %w", name, err)
	}
	c.copies[name] = ""
	if len(c.copies) > maxCopied {
		return "", fmt.Errorf("more than %d nodes are needed", maxCopied)
	}
	inputs, err := c.inputs(node)
	if err != nil {
		return "", err
	}
	own := c.unique(nodeName(name))
	c.def.NodeDef = append(c.def.NodeDef, &nodepb.NodeDef{
		Name: own, Op: node.GetOp(), Device: node.GetDevice(), Input: inputs, Attr: ownAttrs(node),
	})
	c.copies[name] = own
	return own, nil
}

// ownAttrs returns a node's attributes except those that concern its place in the top graph: the
// nodes that it is colocated with, and the shapes that TensorFlow inferred there.
func ownAttrs(node *nodepb.NodeDef) attrs {
	own := attrs(proto.CloneOf(node).GetAttr())
	delete(own, "_class")
	delete(own, "_output_shapes")
	return own
}

// inputs returns the inputs of the copy of a node.
func (c *copying) inputs(node *nodepb.NodeDef) ([]string, error) {
	var inputs []string
	for _, reference := range node.GetInput() {
		before, isControl := strings.CutPrefix(reference, "^")
		if isControl && c.outside(before) {
			continue
		}
		if !isControl {
			value, err := c.value(reference)
			if err != nil {
				return nil, err
			}
			inputs = append(inputs, string(value))
			continue
		}
		name, err := c.copy(before)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, "^"+name)
	}
	return inputs, nil
}

// outside reports whether a node exists before the function is called: arguments, assets, tables,
// and the nodes that fill those.
func (c *copying) outside(name string) bool {
	p := port{node: name}
	_, isArgument := c.values[p]
	_, isKnown := c.graph.known[p]
	op := c.graph.model.Node(name).GetOp()
	return isArgument || isKnown || op == tableOp || slices.Contains(fillingOps, op)
}

// portable returns why a node can't be part of a function. Only ops whose outputs' names are known
// can be: functions call them by name, top graphs count them.
func portable(node *nodepb.NodeDef) error {
	op := node.GetOp()
	switch _, known := ops.Find(op); {
	case op == "Placeholder" || op == "PlaceholderV2":
		return errors.New("is a placeholder that nothing is fed to")
	case known || slices.Contains(silentOps, op) || slices.Contains(callOps, op) || slices.Contains(fillingOps, op):
		return nil
	}
	return fmt.Errorf("op %s of a graph of TensorFlow 1 can't be carried over into a function", op)
}

var (
	silentOps = []string{"NoOp", "Assert"} // no outputs: other nodes depend on them only by control
	callOps   = []string{"PartitionedCall", "StatefulPartitionedCall"}
)
