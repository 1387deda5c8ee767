package graph

import (
	"fmt"
	"slices"

	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
	"github.com/stoker-ml/stoker/compute/tf/tensorbundle"
)

// restoreObjects sets the variables that functions capture to what the checkpoint has for their
// objects, as TensorFlow 2 loads. The node of the top graph that restores may set other variables
// instead: Keras 3 saves through copies.
func (s *Session) restoreObjects(tensors map[int32]string) error {
	if s.bundle == nil || !slices.ContainsFunc(s.bundle.Variables(), func(v tensorbundle.Variable) bool { return v.Key == tensorbundle.ObjectGraphKey }) {
		return nil
	}
	checkpoint, err := s.bundle.Objects()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFiles, err)
	}
	keys := s.model.checkpointKeys(checkpoint.GetNodes())
	for id, name := range tensors {
		key, ok := keys[id]
		node := s.model.top[nodeOf(name)]
		if !ok || node.GetOp() != "VarHandleOp" {
			continue
		}
		s.variable(node).Set(func() (tensor.Tensor, error) { return s.load(origin{key: key}) })
	}
	return nil
}

// checkpointKeys returns the keys of the values of objects that are variables. Checkpoint and model
// have separate trees of objects, which are matched by the names of the branches.
func (m *Model) checkpointKeys(saved []*corepb.TrackableObjectGraph_TrackableObject) map[int32]string {
	keys := map[int32]string{}
	if len(m.objects) == 0 || len(saved) == 0 {
		return keys
	}
	type pair struct{ object, saved int32 }
	seen, open := map[pair]bool{}, []pair{{rootObject, rootObject}}
	for len(open) > 0 {
		at := open[0]
		open = open[1:]
		for _, value := range saved[at.saved].GetAttributes() {
			if value.GetName() == "VARIABLE_VALUE" && m.objects[at.object].GetVariable() != nil {
				keys[at.object] = value.GetCheckpointKey()
			}
		}
		own := m.children(at.object)
		for _, child := range saved[at.saved].GetChildren() {
			id, ok := own[child.GetLocalName()]
			next := pair{id, child.GetNodeId()}
			if ok && !seen[next] && next.saved >= 0 && int(next.saved) < len(saved) && len(seen) < maxNodes {
				seen[next] = true
				open = append(open, next)
			}
		}
	}
	return keys
}
