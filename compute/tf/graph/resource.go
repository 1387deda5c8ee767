package graph

import (
	"cmp"
	"fmt"
	"slices"

	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"

	"github.com/stoker-ml/stoker/compute/tf/ops"
	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// resource returns the variable or table of a node, and whether it is such a node. Nodes of one
// shared_name have the same one.
func (s *Session) resource(def *nodepb.NodeDef) (tensor.DType, ops.Value, bool, error) {
	switch op := def.GetOp(); {
	case op == "VarHandleOp":
		return tensor.Resource, s.variable(def), true, nil
	case isReference(op):
		v := s.variable(def)
		t, err := v.Value()
		if err != nil {
			return 0, nil, true, err
		}
		return v.DType, t, true, nil
	case slices.Contains(tableOps, op):
		t, err := s.table(def)
		return tensor.Resource, t, true, err
	}
	return 0, nil, false, nil
}

var tableOps = []string{"HashTableV2", "HashTable", "MutableHashTableV2", "MutableHashTable"}

// isReference reports whether an op is a variable of TensorFlow 1, which nodes read directly.
func isReference(op string) bool { return op == "VariableV2" || op == "Variable" }

func sharedName(def *nodepb.NodeDef) string {
	return cmp.Or(string(def.GetAttr()["shared_name"].GetS()), def.GetName())
}

func (s *Session) variable(def *nodepb.NodeDef) *ops.Variable {
	name := sharedName(def)
	if s.variables[name] == nil {
		s.variables[name] = &ops.Variable{Name: name, DType: def.GetAttr()["dtype"].GetType()}
	}
	return s.variables[name]
}

func (s *Session) table(def *nodepb.NodeDef) (*ops.Table, error) {
	name := sharedName(def)
	if s.tables[name] == nil {
		t, err := ops.EmptyTable(name, def.GetAttr()["key_dtype"].GetType(), def.GetAttr()["value_dtype"].GetType())
		if err != nil {
			return nil, fmt.Errorf("table %q: %w", name, err)
		}
		if op := def.GetOp(); op == "MutableHashTableV2" || op == "MutableHashTable" {
			t.Fill(nil, nil, nil) // may be looked up while it is empty
		}
		s.tables[name] = t
	}
	return s.tables[name], nil
}
