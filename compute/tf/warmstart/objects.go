package warmstart

import (
	"slices"
	"strings"

	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"

	"github.com/stoker-ml/stoker/compute/tf/tensorbundle"
)

// valueSuffix ends the key of a variable's value in a checkpoint of TensorFlow 2; before it is the
// path to the variable from the root, from attribute to attribute.
const valueSuffix = "/.ATTRIBUTES/VARIABLE_VALUE"

// objectWalk visits each object of a TensorFlow 2 checkpoint once, depth first: a layer's weights
// come together, and layers in the order of the lists that contain them.
type objectWalk struct {
	graph     *corepb.TrackableObjectGraph
	variables map[string]tensorbundle.Variable
	seen      []bool
	list      []Weight
}

func objectTensors(b *tensorbundle.Bundle, variables []tensorbundle.Variable) ([]Weight, error) {
	graph, err := b.Objects()
	if err != nil {
		return nil, err
	}
	return walkObjects(graph, variables), nil
}

func walkObjects(graph *corepb.TrackableObjectGraph, variables []tensorbundle.Variable) []Weight {
	w := objectWalk{graph: graph, variables: map[string]tensorbundle.Variable{}, seen: make([]bool, len(graph.GetNodes()))}
	for _, v := range variables {
		w.variables[v.Key] = v
	}
	for _, node := range graph.GetNodes() {
		for _, slot := range node.GetSlotVariables() { // of an optimizer of Keras 2
			w.skip(slot.GetSlotVariableNodeId())
		}
	}
	w.walk()
	return w.list
}

// walk does not recurse: the graph may be as deep as it has objects.
func (w *objectWalk) walk() {
	for todo := []int32{0}; len(todo) > 0; {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if id < 0 || int(id) >= len(w.seen) || w.seen[id] {
			continue
		}
		w.seen[id] = true
		node := w.graph.GetNodes()[id]
		if isOptimizer(node) {
			continue
		}
		for _, attribute := range node.GetAttributes() {
			w.take(id, attribute)
		}
		for _, child := range slices.Backward(node.GetChildren()) {
			if !slices.Contains(passedOver, child.GetLocalName()) {
				todo = append(todo, child.GetNodeId())
			}
		}
	}
}

// passedOver are children without weights, or with copies of them: the internal objects of Keras 2,
// and the second, unordered list of Keras 3's exports.
var passedOver = []string{"keras_api", "_all_variables", "signatures", "save_counter"}

// isOptimizer reports whether an object has the counter of steps of Keras's optimizers.
func isOptimizer(node *corepb.TrackableObjectGraph_TrackableObject) bool {
	return slices.ContainsFunc(node.GetChildren(), func(c *corepb.TrackableObjectGraph_TrackableObject_ObjectReference) bool {
		return c.GetLocalName() == "_iterations" || c.GetLocalName() == "iter"
	})
}

func (w *objectWalk) skip(id int32) {
	if id >= 0 && int(id) < len(w.seen) {
		w.seen[id] = true
	}
}

// take lists the value of a variable.
func (w *objectWalk) take(id int32, value *corepb.TrackableObjectGraph_TrackableObject_SerializedTensor) {
	v, ok := w.variables[value.GetCheckpointKey()]
	if !ok || value.GetName() != "VARIABLE_VALUE" || !isWeight(v) {
		return
	}
	path := unescape.Replace(strings.TrimSuffix(v.Key, valueSuffix))
	name := value.GetFullName()
	if !strings.Contains(name, "/") {
		name = path // tf.Variable is called Variable by default
	}
	w.list = append(w.list, Weight{
		Name: name, Key: v.Key, DType: v.DType, Shape: v.Shape, Positional: name != path && isPositional(name), object: id,
	})
}

// unescape splits a key into the names that objects have in a program, which may contain a slash.
var unescape = strings.NewReplacer("..", ".", ".S", "/")
