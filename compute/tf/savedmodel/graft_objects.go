package savedmodel

import (
	"fmt"

	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// graftObjects hangs the transform graph's objects under the root, so that TensorFlow 2 makes its
// tables and constants.
func (b *builder) graftObjects(g *transformGraph, r *renamer) error {
	graph := g.meta.GetObjectGraphDef()
	for id, object := range graph.GetNodes() {
		if err := r.savedObject(object, len(graph.GetNodes())); err != nil {
			return fmt.Errorf("object %d: %w", id, err)
		}
		b.objects.add(object)
	}
	b.objects.child(rootObject, r.object(rootObject), transformChild)
	for name, concrete := range graph.GetConcreteFunctions() {
		for i, id := range concrete.GetBoundInputs() {
			concrete.BoundInputs[i] = r.object(id)
		}
		b.objects.functions[r.function(name)] = concrete
	}
	return nil
}

// savedObject shifts the numbers of other objects in an object, and renames the nodes and functions
// it names.
func (r *renamer) savedObject(object *corepb.SavedObject, count int) error {
	for _, references := range [][]*reference{object.GetChildren(), object.GetDependencies()} {
		for _, c := range references {
			if c.GetNodeId() < 0 || int(c.GetNodeId()) >= count {
				return fmt.Errorf("child %q is object %d of %d", c.GetLocalName(), c.GetNodeId(), count)
			}
			c.NodeId = r.object(c.GetNodeId())
		}
	}
	for _, slot := range object.GetSlotVariables() {
		slot.OriginalVariableNodeId = r.object(slot.GetOriginalVariableNodeId())
		slot.SlotVariableNodeId = r.object(slot.GetSlotVariableNodeId())
	}
	for _, saveable := range object.GetSaveableObjects() {
		saveable.SaveFunction = r.object(saveable.GetSaveFunction())
		saveable.RestoreFunction = r.object(saveable.GetRestoreFunction())
	}
	r.kind(object)
	return nil
}

func (r *renamer) kind(object *corepb.SavedObject) {
	switch kind := object.GetKind().(type) {
	case *corepb.SavedObject_UserObject:
		if kind.UserObject.GetIdentifier() == "signature_map" { // a model has one
			kind.UserObject.Identifier = "_generic_user_object"
		}
	case *corepb.SavedObject_Variable:
		kind.Variable.Name = r.node(kind.Variable.GetName())
	case *corepb.SavedObject_Asset:
		kind.Asset.AssetFileDefIndex += r.assets
	case *corepb.SavedObject_Constant:
		kind.Constant.Operation = r.node(kind.Constant.GetOperation())
	case *corepb.SavedObject_Function:
		for i, name := range kind.Function.GetConcreteFunctions() {
			kind.Function.ConcreteFunctions[i] = r.function(name)
		}
	case *corepb.SavedObject_BareConcreteFunction:
		kind.BareConcreteFunction.ConcreteFunctionName = r.function(kind.BareConcreteFunction.GetConcreteFunctionName())
	case *corepb.SavedObject_CapturedTensor:
		kind.CapturedTensor.ConcreteFunction = r.function(kind.CapturedTensor.GetConcreteFunction())
	}
}
