package graph

import (
	"errors"
	"fmt"

	functionpb "github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// Trace is a function of the tree of objects: its inputs and outputs by name. Its arguments are the
// tensors of Inputs, one after another, and then its captures.
type Trace struct {
	Function *functionpb.FunctionDef
	Captures []int32 // objects that the last arguments represent
	Inputs   []Spec
	Outputs  []Spec
}

// rootObject is the number of the root of the tree of objects.
const rootObject = 0

// ErrNoObjects is returned for graphs of TensorFlow 1: they have signatures, and no functions that
// objects name.
var ErrNoObjects = errors.New("no object graph: the graph is one of TensorFlow 1")

// Trace finds the function that the root has under that name, and that takes a dict from names to
// tensors. The names of inputs come from the tree of objects, not from the flat signature of the
// graph, whose inputs are numbered and sorted as text.
func (m *Model) Trace(name string) (*Trace, error) {
	if len(m.objects) == 0 {
		return nil, ErrNoObjects
	}
	id, ok := m.child(rootObject, name)
	if !ok {
		return nil, fmt.Errorf("object graph has no %s", name)
	}
	def, concrete, err := m.traced(id)
	if err != nil {
		return nil, fmt.Errorf("object %s: %w", name, err)
	}
	t := &Trace{Function: def, Captures: concrete.GetBoundInputs()}
	if t.Inputs, err = specs(firstArgument(concrete.GetCanonicalizedInputSignature())); err != nil {
		return nil, fmt.Errorf("input %w", err)
	}
	if t.Outputs, err = specs(concrete.GetOutputSignature()); err != nil {
		return nil, fmt.Errorf("output %w", err)
	}
	return t, t.checkCounts()
}

// checkCounts checks that the numbers of names and tensors agree.
func (t *Trace) checkCounts() error {
	in, out := len(t.Captures), 0
	for _, s := range t.Inputs {
		in += s.Tensors()
	}
	for _, s := range t.Outputs {
		out += s.Tensors()
	}
	signature := t.Function.GetSignature()
	if have := len(signature.GetInputArg()); have != in {
		return fmt.Errorf("function takes %d tensors, its %d features and %d captures are %d", have, len(t.Inputs), len(t.Captures), in)
	}
	if have := len(signature.GetOutputArg()); have != out || out == 0 {
		return fmt.Errorf("function gives %d tensors, its %d features are %d", have, len(t.Outputs), out)
	}
	return nil
}

// CaptureNodes finds the tensor of the top graph behind every object that a function captures.
// Constants name their tensor, and assets have a number; the other tensors are found in calls of
// the top graph, whose last arguments are the captures of the called function, in the same order.
func (m *Model) CaptureNodes(captures []int32) ([]string, error) {
	byObject := m.calledWith()
	var references []string
	for _, id := range captures {
		if id < 0 || int(id) >= len(m.objects) {
			return nil, fmt.Errorf("captured object %d doesn't exist", id)
		}
		reference := byObject[id]
		if constant := m.objects[id].GetConstant(); constant != nil {
			reference = constant.GetOperation()
		}
		if reference == "" {
			return nil, fmt.Errorf("captured object %d has no node in the graph", id)
		}
		references = append(references, reference)
	}
	return references, nil
}

// calledWith returns the tensors of the top graph by the object that they represent, as far as
// calls of functions show it.
func (m *Model) calledWith() map[int32]string {
	tensors := map[int32]string{}
	for _, node := range m.Meta.GetGraphDef().GetNode() {
		called, _ := calledFunction(node)
		ids := m.Meta.GetObjectGraphDef().GetConcreteFunctions()[called].GetBoundInputs()
		inputs := dataInputs(node.GetInput())
		if len(ids) > len(inputs) {
			continue
		}
		for i, id := range ids {
			tensors[id] = inputs[len(inputs)-len(ids)+i]
		}
	}
	return tensors
}

// firstArgument takes a out of ((a, ...), {}).
func firstArgument(v *corepb.StructuredValue) *corepb.StructuredValue {
	for range 2 {
		values := v.GetTupleValue().GetValues()
		if len(values) == 0 {
			return nil
		}
		v = values[0]
	}
	return v
}
