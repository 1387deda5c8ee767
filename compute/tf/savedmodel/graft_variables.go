package savedmodel

import (
	"fmt"
	"path/filepath"
	"slices"

	typepb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"

	"github.com/stoker-ml/stoker/compute/tf/tensorbundle"
)

// graftVariables takes over the values of the transform graph's variables, of any type. Those that
// the transform function captures are restored by sessions too, which know nothing of objects.
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
