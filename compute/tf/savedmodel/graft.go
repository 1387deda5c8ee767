package savedmodel

import (
	"fmt"
	"path/filepath"

	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// transformChild is the root's child under which the transform graph's own objects hang.
const transformChild = "tft"

// transform is a transform graph grafted into the model: a function of it that signatures can call.
type transform struct {
	*transformGraph
	grafted []capture // the captures under their names in the model
}

// graft takes over what the transform function needs: functions, constants, tables, assets, and
// both ways in which tables are filled. Everything gets a name of its own, so that nothing clashes
// with the model's.
func (b *builder) graft(g *transformGraph) (*transform, error) {
	r := newRenamer(g, int32(len(b.objects.nodes)), int32(len(b.assets)))
	keep, err := g.keep()
	if err != nil {
		return nil, err
	}
	b.graftGraph(g, keep, r)
	if err := b.graftVariables(g, r); err != nil {
		return nil, err
	}
	if err := b.graftObjects(g, r); err != nil {
		return nil, err
	}
	if err := b.graftAssets(g, r); err != nil {
		return nil, err
	}
	for _, node := range g.inits {
		b.inits = append(b.inits, r.node(node))
	}
	t := &transform{transformGraph: g}
	for _, c := range g.captures {
		t.grafted = append(t.grafted, capture{object: r.object(c.object), node: r.tensor(c.node), dtype: c.dtype})
	}
	return t, nil
}

func (b *builder) graftGraph(g *transformGraph, keep *kept, r *renamer) {
	for _, node := range g.meta.GetGraphDef().GetNode() {
		if keep.nodes[node.GetName()] {
			r.topNode(node)
			b.top.nodes = append(b.top.nodes, node)
			b.top.names[node.GetName()] = true
		}
	}
	for _, def := range g.meta.GetGraphDef().GetLibrary().GetFunction() {
		if keep.functions[def.GetSignature().GetName()] {
			r.rename(def)
			b.functions = append(b.functions, &function{def: def})
		}
	}
	b.top.atLeast(g.meta.GetGraphDef().GetVersions())
}

// asset is a file that the model carries along.
type asset struct {
	source string
	def    *corepb.AssetFileDef
}

func (b *builder) graftAssets(g *transformGraph, r *renamer) error {
	for _, def := range g.meta.GetAssetFileDef() {
		if !filepath.IsLocal(def.GetFilename()) {
			return fmt.Errorf("asset %q lies outside the folder of assets", def.GetFilename())
		}
		info := def.GetTensorInfo()
		info.Encoding = &corepb.TensorInfo_Name{Name: r.tensor(info.GetName())}
		b.assets = append(b.assets, asset{source: filepath.Join(g.dir, "assets", def.GetFilename()), def: def})
	}
	return nil
}
