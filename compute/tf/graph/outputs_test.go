package graph_test

import (
	"slices"
	"testing"

	attrpb "github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"

	"github.com/stoker-ml/stoker/compute/tf/ops"
	"github.com/stoker-ml/stoker/compute/tf/tensor"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

const outputsScript = `
from tensorflow.python.framework import op_def_registry

def check(names):
    return {name: [a.name for a in op_def_registry.get(name).output_arg] for name in names}
`

// A graph with another name for an output is one that TensorFlow does not load.
func TestOutputsAreNamedAsInTensorFlow(t *testing.T) {
	t.Parallel()
	names := append(ops.Names(), "HashTableV2")
	var want map[string][]string
	tftest.Run(t, outputsScript, names, &want)
	for _, name := range names {
		have := []string{ops.FirstOutput(name)}
		if op, _ := ops.Find(name); len(op.Outputs) > 0 {
			have = op.Outputs
		}
		if !slices.Equal(have, want[name]) {
			t.Errorf("op %s has outputs %q, want %q", name, have, want[name])
		}
	}
}

// The tensors of a node are counted through its outputs, of which some are lists.
func TestAnOutputIsFoundByItsPlace(t *testing.T) {
	t.Parallel()
	types := func(count int) *attrpb.AttrValue {
		list := &attrpb.AttrValue_ListValue{Type: slices.Repeat([]tensor.DType{tensor.Int64}, count)}
		return &attrpb.AttrValue{Value: &attrpb.AttrValue_List{List: list}}
	}
	// 2 indices, 2 values, 2 shapes, 3 dense
	parsed := map[string]*attrpb.AttrValue{"sparse_types": types(2), "Tdense": types(3)}
	tests := []struct {
		op    string
		place int
		want  string
	}{
		{"Sqrt", 0, "y:0"},
		{"Split", 2, "output:2"},
		{"SparseReorder", 0, "output_indices:0"},
		{"SparseReorder", 1, "output_values:0"},
		{"ParseExampleV2", 3, "sparse_values:1"},
		{"ParseExampleV2", 8, "dense_values:2"},
	}
	for _, tt := range tests {
		if got := ops.OutputName(&nodepb.NodeDef{Op: tt.op, Attr: parsed}, tt.place); got != tt.want {
			t.Errorf("output %d of %s is %s, want %s", tt.place, tt.op, got, tt.want)
		}
	}
}
