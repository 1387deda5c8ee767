package savedmodel

import (
	"fmt"
	"slices"

	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// fillingOps fill a table, which is their first input.
var fillingOps = []string{"InitializeTableFromTextFileV2", "InitializeTableV2", "LookupTableImportV2"}

// findAssets makes an object of each asset.
func (g *oldGraph) findAssets() error {
	for i, def := range g.model.Assets() {
		p, err := portOf(def.GetTensorInfo().GetName())
		if err != nil {
			return fmt.Errorf("asset %s: %w", def.GetFilename(), err)
		}
		asset := &corepb.SavedAsset{AssetFileDefIndex: int32(i)}
		id := g.objects.add(&corepb.SavedObject{Kind: &corepb.SavedObject_Asset{Asset: asset}})
		g.objects.child(rootObject, id, fmt.Sprintf("asset_%d", i))
		g.known[p] = capture{object: id, node: p.String(), dtype: stringType}
	}
	return nil
}

// findFillers finds the nodes that fill tables among those that run after restoring, and the nodes
// that these depend on by control.
func (g *oldGraph) findFillers() error {
	seen, names := map[string]bool{}, g.model.InitNodes()
	for len(names) > 0 {
		node := g.model.Node(names[0])
		names = names[1:]
		if node == nil || seen[node.GetName()] {
			continue
		}
		seen[node.GetName()] = true
		inputs := node.GetInput()
		if slices.Contains(fillingOps, node.GetOp()) && len(inputs) > 0 {
			table, err := portOf(inputs[0])
			if err != nil {
				return fmt.Errorf("node %s: %w", node.GetName(), err)
			}
			if g.fillers[table] == "" {
				g.fillers[table] = node.GetName()
			}
		}
		for _, in := range inputs {
			names = append(names, nodeOf(in))
		}
	}
	return nil
}

// object returns the object behind a tensor, if there is one: an asset, or a table, which becomes
// an object when it is found.
func (g *oldGraph) object(p port) (capture, bool, error) {
	if c, ok := g.known[p]; ok {
		return c, true, nil
	}
	switch op := g.model.Node(p.node).GetOp(); {
	case op != tableOp:
		return capture{}, false, nil
	case g.fillers[p] == "":
		return capture{}, false, fmt.Errorf("node %s (%s): nothing fills the table", p.node, op)
	}
	id := g.objects.add(&corepb.SavedObject{Kind: &corepb.SavedObject_Resource{Resource: &corepb.SavedResource{}}})
	g.objects.child(rootObject, id, fmt.Sprintf("table_%d", id))
	g.known[p] = capture{object: id, node: p.String(), dtype: resourceType}
	g.tables = append(g.tables, p)
	return g.known[p], true, nil
}

// addTable adds to the object of a table the functions by which TensorFlow 2 makes and fills it.
func (g *oldGraph) addTable(p port) error {
	create, initialize, destroy := g.newFunction("_creator"), g.newFunction("_initializer"), g.newFunction("_destroyer")
	fill, err := g.copying(initialize).copy(g.fillers[p])
	if err != nil {
		return err
	}
	initialize.endFilling(fill)
	g.objects.tableFunctions(g.known[p].object, ownAttrs(g.model.Node(p.node)), create, initialize, destroy)
	return nil
}
