package transform

import (
	"errors"
	"fmt"
	"path/filepath"

	functionpb "github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
)

// asset is the path of a file beside the graph, that a table is filled from.
type asset struct{ path string }

// capture finds what stands behind an object that a function needs: a constant, the path of an asset, or a table.
func (a *artifact) capture(id int32) (dtype, value, error) {
	if id < 0 || int(id) >= len(a.objects) {
		return 0, nil, fmt.Errorf("object %d isn't there", id)
	}
	object := a.objects[id]
	switch {
	case object.GetConstant() != nil:
		node, ok := a.top[object.GetConstant().GetOperation()]
		if !ok {
			return 0, nil, fmt.Errorf("object %d: no node %q", id, object.GetConstant().GetOperation())
		}
		v, err := constant(node.GetAttr()["value"].GetTensor())
		if err != nil {
			return 0, nil, fmt.Errorf("node %s: %w", node.GetName(), err)
		}
		return v.dtype(), v, nil
	case object.GetAsset() != nil:
		files := a.meta.GetAssetFileDef()
		i := int(object.GetAsset().GetAssetFileDefIndex())
		if i < 0 || i >= len(files) {
			return 0, nil, fmt.Errorf("object %d: no asset %d", id, i)
		}
		name := filepath.FromSlash(files[i].GetFilename())
		if !filepath.IsLocal(name) {
			return 0, nil, fmt.Errorf("asset %q is outside of its folder", name)
		}
		return stringType, asset{filepath.Join(a.dir, "assets", name)}, nil
	case object.GetResource() != nil:
		t, err := a.table(id)
		if err != nil {
			return 0, nil, fmt.Errorf("table of object %d: %w", id, err)
		}
		return resourceType, t, nil
	case object.GetVariable() != nil:
		return 0, nil, fmt.Errorf("object %d is the variable %q, which graphs of tf.Transform don't use", id, object.GetVariable().GetName())
	}
	return 0, nil, fmt.Errorf("object %d is neither constant, asset nor table", id)
}

// table fills a table as the object's function _initialize does.
func (a *artifact) table(id int32) (*table, error) {
	initialize, ok := a.child(id, "_initialize")
	if !ok {
		return nil, errors.New("nothing says how to fill it")
	}
	def, concrete, err := a.traced(initialize)
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
			return a.textTable(id, node, args)
		case "LookupTableImportV2", "InitializeTableV2", "LookupTableImport", "InitializeTable":
			return a.listedTable(def, node, args)
		case "InitializeTableFromDataset":
			return a.recordTable(node, args)
		}
	}
	return nil, fmt.Errorf("function %s fills it in no way that is known", def.GetSignature().GetName())
}

// input finds what a node of such a function is given.
func (a *artifact) input(node *nodepb.NodeDef, i int, args map[string]int32) (value, error) {
	if i >= len(node.GetInput()) {
		return nil, fmt.Errorf("node %s has %d inputs", node.GetName(), len(node.GetInput()))
	}
	id, ok := args[node.GetInput()[i]]
	if !ok {
		return nil, fmt.Errorf("node %s: input %s is no argument", node.GetName(), node.GetInput()[i])
	}
	if int(id) < len(a.objects) && id >= 0 && a.objects[id].GetResource() != nil {
		return nil, fmt.Errorf("node %s: input %s is a resource", node.GetName(), node.GetInput()[i])
	}
	_, v, err := a.capture(id)
	return v, err
}

// textTable reads a vocabulary file.
func (a *artifact) textTable(id int32, def *nodepb.NodeDef, args map[string]int32) (*table, error) {
	v, err := a.input(def, 1, args)
	if err != nil {
		return nil, err
	}
	file, ok := v.(asset)
	if !ok {
		return nil, errors.New("its file isn't an asset")
	}
	n := &node{def: def}
	key, content, err := a.tableTypes(id)
	if err != nil {
		return nil, err
	}
	columns := textColumns{
		key: n.integer("key_index", 0), value: n.integer("value_index", 0), delimiter: n.text("delimiter", "\t"),
		offset: n.integer("offset", 0), keyType: key, valueType: content,
	}
	return readTextTable(file.path, columns)
}

// tableTypes are the types of keys and values, which only the node that creates the table names.
func (a *artifact) tableTypes(id int32) (key, content dtype, err error) {
	create, ok := a.child(id, "_create_resource")
	if !ok {
		return 0, 0, errors.New("nothing says of which type it is")
	}
	def, _, err := a.traced(create)
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
func (a *artifact) listedTable(def *functionpb.FunctionDef, node *nodepb.NodeDef, args map[string]int32) (*table, error) {
	var lists [2]tensor
	for i := range lists {
		v, err := a.listed(def, node, 1+i, args)
		if err != nil {
			return nil, err
		}
		lists[i] = v
	}
	return newTable(lists[0], lists[1])
}

// listed is an argument that is a constant, or a constant within the function.
func (a *artifact) listed(def *functionpb.FunctionDef, node *nodepb.NodeDef, i int, args map[string]int32) (tensor, error) {
	c := &compiler{library: a.library, plan: &plan{}, count: new(int)}
	var slots []int
	for _, arg := range def.GetSignature().GetInputArg() {
		var v value
		if id, ok := args[arg.GetName()]; ok && arg.GetType() != resourceType {
			_, held, err := a.capture(id)
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
	t, ok := c.plan.start[slot].(tensor)
	if !ok {
		return nil, fmt.Errorf("node %s: input %d isn't known beforehand", node.GetName(), i)
	}
	return t, nil
}
