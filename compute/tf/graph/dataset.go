package graph

import (
	"fmt"
	"slices"
	"strings"

	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
)

// dataset is a data set that a graph reads from a file of compressed records: the value of record i
// is i.
type dataset struct{ path string }

// datasetOps are the ops of the only pipeline with which tf.Transform reads a vocabulary of
// records.
var datasetOps = []string{"FlatMapDataset", "MapDataset", "RangeDataset", "TFRecordDataset", "TensorSliceDataset", "ZipDataset"}

// findDatasets finds the tensors of the top graph that are such data sets: arguments of functions
// that represent an object made of an asset. In the top graph itself the asset's path may be that
// of another machine.
func (s *Session) findDatasets(tensors map[int32]string) error {
	m := s.model
	for id, tensor := range tensors {
		if id < 0 || int(id) >= len(m.objects) {
			continue
		}
		create, ok := m.child(id, "_create_resource")
		if !ok {
			continue
		}
		def, concrete, err := m.traced(create)
		if err != nil {
			continue // no function makes it: the caller that needs it returns the error
		}
		found, err := m.datasetOps(def.GetNodeDef(), map[string]bool{})
		if err != nil {
			return fmt.Errorf("object %d: %w", id, err)
		}
		if !found {
			continue
		}
		if len(concrete.GetBoundInputs()) != 1 {
			return fmt.Errorf("object %d: its data set is made of %d things, wants a file", id, len(concrete.GetBoundInputs()))
		}
		path, err := m.assetOf(concrete.GetBoundInputs()[0])
		if err != nil {
			return fmt.Errorf("object %d: its data set: %w", id, err)
		}
		s.datasets[canonical(tensor)] = &dataset{path}
	}
	return nil
}

// datasetOps reports whether there are ops of data sets, and refuses those that are not in the
// pipeline of tf.Transform. seen are the functions that were checked: each is checked once.
func (m *Model) datasetOps(nodes []*nodepb.NodeDef, seen map[string]bool) (found bool, err error) {
	for _, n := range nodes {
		is := strings.Contains(n.GetOp(), "Dataset")
		if is && !slices.Contains(datasetOps, n.GetOp()) {
			return true, fmt.Errorf("node %s: op %s isn't known in a table's data set", n.GetName(), n.GetOp())
		}
		found = found || is
		if f := n.GetAttr()["f"].GetFunc(); f != nil && !seen[f.GetName()] {
			seen[f.GetName()] = true
			inner, err := m.datasetOps(m.library[f.GetName()].GetNodeDef(), seen)
			if err != nil {
				return true, err
			}
			found = found || inner
		}
	}
	return found, nil
}
