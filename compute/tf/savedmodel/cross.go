package savedmodel

import (
	typepb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"

	"github.com/stoker-ml/stoker/compute/nn"
)

// cross writes the same nodes as tf.sparse.cross_hashed for dense columns. Its result is sparse;
// since every row of dense columns has as many combinations, its values are the rows one after the
// other.
func (w *forward) cross(n nn.Node) edge {
	types, internal := []typepb.DataType{}, stringType // int64 as soon as one column is
	var columns []edge
	for _, in := range n.In {
		t := stringType
		if w.types[in].Kind == nn.Int64 {
			t, internal = int64Type, int64Type
		}
		types, columns = append(types, t), append(columns, w.values[in])
	}
	crossed := w.node("SparseCross", n.Name+"/crossed", attrs{
		"N": intAttr(0), "sparse_types": typesAttr(), "dense_types": typesAttr(types...), "internal_type": typeAttr(internal),
		"out_type": typeAttr(int64Type), "hashed_output": boolAttr(true), "num_buckets": intAttr(n.Attr.Depth), "hash_key": intAttr(nn.CrossKey),
	}, columns...)
	return w.reshape(n.Name, nodeOutput(crossed, "output_values", 0), int64Type, -1, w.types[n.Name].Width)
}
