package tensorflow

import (
	"errors"
	"fmt"
	"path/filepath"

	functionpb "github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"

	"github.com/stoker-ml/stoker/compute/tensorflow/ops"
)

// asset is the path of a file beside the graph, that a table is filled from.
type asset struct{ path string }

// capture finds what stands behind an object that a function needs: a constant, the path of an asset, or a table.
func (m *Model) capture(id int32) (ops.DType, ops.Value, error) {
	if id < 0 || int(id) >= len(m.objects) {
		return 0, nil, fmt.Errorf("object %d isn't there", id)
	}
	object := m.objects[id]
	switch {
	case object.GetConstant() != nil:
		node, ok := m.top[object.GetConstant().GetOperation()]
		if !ok {
			return 0, nil, fmt.Errorf("object %d: no node %q", id, object.GetConstant().GetOperation())
		}
		v, err := ops.Constant(node.GetAttr()["value"].GetTensor())
		if err != nil {
			return 0, nil, fmt.Errorf("node %s: %w", node.GetName(), err)
		}
		return v.DType(), v, nil
	case object.GetAsset() != nil:
		files := m.Meta.GetAssetFileDef()
		i := int(object.GetAsset().GetAssetFileDefIndex())
		if i < 0 || i >= len(files) {
			return 0, nil, fmt.Errorf("object %d: no asset %d", id, i)
		}
		name := filepath.FromSlash(files[i].GetFilename())
		if !filepath.IsLocal(name) {
			return 0, nil, fmt.Errorf("asset %q is outside of its folder", name)
		}
		return ops.String, asset{filepath.Join(m.Dir, "assets", name)}, nil
	case object.GetResource() != nil:
		t, err := m.table(id)
		if err != nil {
			return 0, nil, fmt.Errorf("table of object %d: %w", id, err)
		}
		return ops.Resource, t, nil
	case object.GetVariable() != nil:
		return 0, nil, fmt.Errorf("object %d is the variable %q, which graphs of tf.Transform don't use", id, object.GetVariable().GetName())
	}
	return 0, nil, fmt.Errorf("object %d is neither constant, asset nor table", id)
}

// table fills a table as the object's function _initialize does.
func (m *Model) table(id int32) (*ops.Table, error) {
	initialize, ok := m.child(id, "_initialize")
	if !ok {
		return nil, errors.New("nothing says how to fill it")
	}
	def, concrete, err := m.traced(initialize)
	if err != nil {
		return nil, err
	}
	args := map[string]int32{}
	for i, arg := range def.GetSignature().GetInputArg() {
		if i < len(concrete.GetBoundInputs()) {
			args[arg.GetName()] = concrete.GetBoundInputs()[i]
		}
	}
	for _, node := range def.GetNodeDef() {
		switch node.GetOp() {
		case "InitializeTableFromTextFileV2", "InitializeTableFromTextFile":
			return m.textTable(id, node, args)
		case "LookupTableImportV2", "InitializeTableV2", "LookupTableImport", "InitializeTable":
			return m.listedTable(def, node, args)
		case "InitializeTableFromDataset":
			return m.recordTable(node, args)
		}
	}
	return nil, fmt.Errorf("function %s fills it in no way that is known", def.GetSignature().GetName())
}

// input finds what a node of such a function is given.
func (m *Model) input(node *nodepb.NodeDef, i int, args map[string]int32) (ops.Value, error) {
	if i >= len(node.GetInput()) {
		return nil, fmt.Errorf("node %s has %d inputs", node.GetName(), len(node.GetInput()))
	}
	id, ok := args[node.GetInput()[i]]
	if !ok {
		return nil, fmt.Errorf("node %s: input %s is no argument", node.GetName(), node.GetInput()[i])
	}
	if int(id) < len(m.objects) && id >= 0 && m.objects[id].GetResource() != nil {
		return nil, fmt.Errorf("node %s: input %s is a resource", node.GetName(), node.GetInput()[i])
	}
	_, v, err := m.capture(id)
	return v, err
}

// textTable reads a vocabulary file.
func (m *Model) textTable(id int32, def *nodepb.NodeDef, args map[string]int32) (*ops.Table, error) {
	v, err := m.input(def, 1, args)
	if err != nil {
		return nil, err
	}
	file, ok := v.(asset)
	if !ok {
		return nil, errors.New("its file isn't an asset")
	}
	n := &ops.Node{Def: def}
	key, content, err := m.tableTypes(id)
	if err != nil {
		return nil, err
	}
	columns := textColumns{
		key: n.Integer("key_index", 0), value: n.Integer("value_index", 0), delimiter: n.Text("delimiter", "\t"),
		offset: n.Integer("offset", 0), keyType: key, valueType: content,
	}
	return readTextTable(file.path, columns)
}

// tableTypes are the types of keys and values, which only the node that creates the table names.
func (m *Model) tableTypes(id int32) (key, content ops.DType, err error) {
	create, ok := m.child(id, "_create_resource")
	if !ok {
		return 0, 0, errors.New("nothing says of which type it is")
	}
	def, _, err := m.traced(create)
	if err != nil {
		return 0, 0, err
	}
	for _, node := range def.GetNodeDef() {
		if key := node.GetAttr()["key_dtype"].GetType(); key != 0 {
			return key, node.GetAttr()["value_dtype"].GetType(), nil
		}
	}
	return 0, 0, fmt.Errorf("function %s creates no table", def.GetSignature().GetName())
}

// listedTable takes keys and values from the graph.
func (m *Model) listedTable(def *functionpb.FunctionDef, node *nodepb.NodeDef, args map[string]int32) (*ops.Table, error) {
	var lists [2]ops.Tensor
	for i := range lists {
		v, err := m.listed(def, node, 1+i, args)
		if err != nil {
			return nil, err
		}
		lists[i] = v
	}
	return ops.NewTable(lists[0], lists[1])
}

// listed is an argument that is a constant, or a constant within the function.
func (m *Model) listed(def *functionpb.FunctionDef, node *nodepb.NodeDef, i int, args map[string]int32) (ops.Tensor, error) {
	c := newCompiler(m.library)
	var slots []int
	for _, arg := range def.GetSignature().GetInputArg() {
		var v ops.Value
		if id, ok := args[arg.GetName()]; ok && arg.GetType() != ops.Resource {
			_, held, err := m.capture(id)
			if err != nil {
				return nil, err
			}
			v = held
		}
		slots = append(slots, c.slot(arg.GetType(), v))
	}
	s, err := c.newScope(def, slots, 0)
	if err != nil {
		return nil, err
	}
	if i >= len(node.GetInput()) {
		return nil, fmt.Errorf("node %s has %d inputs", node.GetName(), len(node.GetInput()))
	}
	slot, err := s.resolve(node.GetInput()[i])
	if err != nil {
		return nil, err
	}
	t, ok := c.plan.start[slot].(ops.Tensor)
	if !ok {
		return nil, fmt.Errorf("node %s: input %d isn't known beforehand", node.GetName(), i)
	}
	return t, nil
}
