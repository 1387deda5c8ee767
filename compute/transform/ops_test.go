package transform

import (
	"slices"
	"testing"

	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/tensorflow/ops"
)

// Each op is in a graph that tf.Transform made and TensorFlow ran, or a twin of it is.
func TestEveryOpIsComparedWithTensorFlows(t *testing.T) {
	t.Parallel()
	twins := []string{ // other names, and other graph versions, of ops that are compared
		"Add", "Div", "If", "Inv", "PreventGradient", "Snapshot", "While",
	}
	seen := map[string]bool{}
	for _, name := range goldenNames(t, graphs) {
		var model corepb.SavedModel
		if err := proto.Unmarshal(unpacked(t, graphs, name, "transform_fn/saved_model.pb"), &model); err != nil {
			t.Fatal(err)
		}
		nodes(model.GetMetaGraphs()[0], func(n *nodepb.NodeDef) { seen[n.GetOp()] = true })
	}
	for _, name := range ops.Names() {
		if !seen[name] && !slices.Contains(twins, name) {
			t.Errorf("op %s is in no graph", name)
		}
	}
}
