package savedmodel

import (
	"fmt"
	"path/filepath"
	"slices"

	typepb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"

	"github.com/stoker-ml/stoker/compute/tf/tensorbundle"
)

// graftObjects adds the transform graph's objects below the root, so that TensorFlow 2 makes its
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
// that it names.
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

// graftVariables copies the values of the transform graph's variables, of any type. Those that the
// transform function captures are also restored by sessions, which don't use objects.
func (b *builder) graftVariables(g *transformGraph, r *renamer) error {
	bound := map[int32]string{}
	for _, c := range g.captures {
		bound[c.object] = c.node
	}
	var weights *tensorbundle.Bundle
	var keys map[int32]string
	for id, object := range g.meta.GetObjectGraphDef().GetNodes() {
		v := object.GetVariable()
		if v == nil {
			continue
		}
		if weights == nil {
			var err error
			if weights, keys, err = checkpointOf(g.dir); err != nil {
				return err
			}
		}
		key, ok := keys[int32(id)]
		if !ok {
			return fmt.Errorf("variable %q has no value in the checkpoint", v.GetName())
		}
		value, err := weights.Copy(key, transformChild+"/"+key)
		if err != nil {
			return err
		}
		b.objects.values[r.object(int32(id))] = &serializedTensor{Name: "VARIABLE_VALUE", FullName: r.node(v.GetName()), CheckpointKey: value.Key}
		b.stored = append(b.stored, value)
		if node := bound[int32(id)]; node != "" {
			b.restoreGrafted(value.Key, r.tensor(node), v.GetDtype())
		}
	}
	return nil
}

// checkpointOf opens the variables of a SavedModel, with the key of each variable by its object.
func checkpointOf(dir string) (*tensorbundle.Bundle, map[int32]string, error) {
	weights, err := tensorbundle.Open(filepath.Join(dir, "variables", "variables"))
	if err != nil {
		return nil, nil, err
	}
	objects, err := weights.Objects()
	if err != nil {
		return nil, nil, err
	}
	keys := map[int32]string{}
	for id, node := range objects.GetNodes() {
		named := func(t *serializedTensor) bool { return t.GetName() == "VARIABLE_VALUE" }
		if i := slices.IndexFunc(node.GetAttributes(), named); i >= 0 {
			keys[int32(id)] = node.GetAttributes()[i].GetCheckpointKey()
		}
	}
	return weights, keys, nil
}

// restoreGrafted lets sessions restore, and save, a variable whose node is grafted.
func (b *builder) restoreGrafted(key, handle string, dtype typepb.DataType) {
	read := b.top.node("ReadVariableOp", handle+"/Read/ReadVariableOp", attrs{"dtype": typeAttr(dtype)}, handle)
	b.saved = append(b.saved, saved{key: key, value: read, handle: handle, dtype: dtype})
}
