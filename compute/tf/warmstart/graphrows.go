package warmstart

import (
	"github.com/stoker-ml/stoker/compute/nn"
)

// GraphRows returns what the rows of a new model's params represent, by name. vocabularies are
// those of inputs that a transform graph has already replaced by numbers of tokens
// (TransformVocabularies); the graph's own vocabularies aren't needed. Rows that can't be
// distinguished from each other are empty; a param whose rows are only hidden units has none.
func GraphRows(g *nn.Graph, vocabularies map[string]Vocabulary) map[string]Rows {
	types, err := g.Types()
	if err != nil {
		return nil // the caller of Start has built it, and gets the error there
	}
	w := graphWalk{types: types, columns: map[string][]column{}, rows: known{}, params: map[string]nn.Param{}}
	for _, p := range g.Params {
		w.params[p.Name] = p
	}
	for _, in := range g.Inputs {
		var ids *domain
		if tokens := vocabularies[in.Name]; in.Kind == nn.Int64 && len(tokens) > 0 {
			ids = &domain{tokens: tokens, other: -1}
		}
		w.columns[in.Name] = features(in.Name, in.Width, ids)
	}
	for _, n := range g.Nodes {
		w.columns[n.Name] = w.node(n)
	}
	return w.rows.informative()
}

// graphWalk follows the contents of columns from node to node.
type graphWalk struct {
	types   map[string]nn.Type
	columns map[string][]column
	params  map[string]nn.Param
	rows    known
}

func (w graphWalk) node(n nn.Node) []column {
	x, width := w.columns[n.In[0]], w.types[n.Name].Width
	switch n.Op {
	case nn.OpMatMul:
		w.rows.learn(n.In[1], kernelRows(x))
		return units(width)
	case nn.OpEmbed:
		w.rows.learn(n.In[1], tableRows(x, n.Attr.Depth))
		return lookedUp(x, w.params[n.In[1]].Shape[1])
	case nn.OpVocab:
		return mapped(x, domain{tokens: n.Attr.Vocabulary, other: -1})
	case nn.OpHash:
		return mapped(x, domain{hashed: n.Attr.Depth, other: -1})
	case nn.OpCross:
		var of [][]column
		for _, in := range n.In {
			of = append(of, w.columns[in])
		}
		return crossed(n.Attr.Depth, of...)
	case nn.OpClamp:
		return clamped(x, int64(n.Attr.Depth-1))
	case nn.OpWithin:
		return clamped(x, n.Attr.Default)
	case nn.OpOneHot:
		return oneHot(x, n.Attr.Depth)
	case nn.OpConcat:
		var all []column
		for _, in := range n.In {
			all = append(all, w.columns[in]...)
		}
		return all
	case nn.OpSlice:
		return x[n.Attr.Start:n.Attr.End]
	}
	if len(n.In) == 2 && w.columns[n.In[1]] != nil && !sameNames(x, w.columns[n.In[1]]) {
		return units(width) // two values that differ make another one
	}
	if len(x) != width {
		return units(width)
	}
	return x // an operation on each element keeps the columns
}
