package autodiff

import (
	"slices"

	"github.com/stoker-ml/stoker/compute/nn"
)

// split divides the nodes that the node called last needs into two graphs. The front has nodes that
// depend on no trainable param: string look-ups, one-hot, normalization. Plain Go computes it,
// outside Gorgonia. The body is the rest, with the front's values that it uses as inputs; for each
// sparse product, a sparseFeed makes the input that replaces rows that are nearly all zeros.
func split(g *nn.Graph, last string) (*parts, error) {
	types, err := g.Types()
	if err != nil {
		return nil, err
	}
	s := splitter{graph: g, params: paramsOf(g), trained: map[string]bool{}, needed: map[string]bool{last: true}, products: map[string]*sparseProduct{}}
	s.markTrained()
	s.sparse = s.sparseProducts(types)
	s.markNeeded()
	p := &parts{front: &nn.Graph{}, body: &nn.Graph{}}
	s.divide(p.front, p.body)
	s.join(p, types, last)
	return p, nil
}

// parts are what a graph is divided into.
type parts struct {
	front, body *nn.Graph
	sparse      []*sparseProduct
}

// fed returns the names of the front's values that are fed to the machine.
func (p *parts) fed() []string {
	made := map[string]bool{}
	var names []string
	for _, s := range p.sparse {
		made[s.valuesName()], made[s.idsName()] = true, true
		for _, b := range s.blocks {
			names = append(names, b.Name)
		}
	}
	for _, in := range p.body.Inputs {
		if !made[in.Name] {
			names = append(names, in.Name)
		}
	}
	return names
}

type splitter struct {
	graph   *nn.Graph
	params  map[string]*nn.Param
	trained map[string]bool           // nodes that depend on a trainable param
	needed  map[string]bool           // nodes, inputs and params that last needs
	sparse  map[string]*sparseProduct // by the products that they replace

	products map[string]*sparseProduct // by the nodes that compute them
}

func (s *splitter) markTrained() {
	for _, n := range s.graph.Nodes {
		for _, in := range n.In {
			p := s.params[in]
			s.trained[n.Name] = s.trained[n.Name] || n.Op.TrainingOnly() || s.trained[in] || p != nil && p.Trainable
		}
	}
}

func (s *splitter) markNeeded() {
	for i := len(s.graph.Nodes) - 1; i >= 0; i-- {
		n := &s.graph.Nodes[i]
		if !s.needed[n.Name] {
			continue
		}
		for _, in := range s.operands(n) {
			s.needed[in] = true
		}
	}
}

// operands returns the operands of a node: for a sparse product, the values that its rows consist
// of.
func (s *splitter) operands(n *nn.Node) []string {
	p := s.sparse[n.Name]
	if p == nil {
		return n.In
	}
	in := []string{n.In[1]}
	for _, b := range slices.Concat(p.blocks, p.dense) {
		in = append(in, b.Name)
	}
	return in
}

func (s *splitter) divide(front, body *nn.Graph) {
	for _, in := range s.graph.Inputs {
		if s.needed[in.Name] {
			front.Inputs = append(front.Inputs, in)
		}
	}
	front.Params, body.Params = s.graph.Params, s.graph.Params
	for _, n := range s.graph.Nodes {
		switch {
		case !s.needed[n.Name]:
		case s.sparse[n.Name] != nil:
			body.Nodes = append(body.Nodes, s.lowered(n.Name)...)
		case s.trained[n.Name]:
			body.Nodes = append(body.Nodes, n)
		default:
			front.Nodes = append(front.Nodes, n)
		}
	}
}

// lowered returns the nodes of a sparse product; they depend on a param, as it did.
func (s *splitter) lowered(name string) []nn.Node {
	p := s.sparse[name]
	nodes := p.lowered()
	for _, n := range nodes {
		s.trained[n.Name] = true
	}
	s.products[nodes[0].Name] = p
	return nodes
}

// join makes inputs of the body from the front's values that it uses, in the order of first use.
func (s *splitter) join(p *parts, types map[string]nn.Type, last string) {
	seen := map[string]bool{}
	take := func(name string) {
		if s.trained[name] || s.params[name] != nil || seen[name] {
			return
		}
		seen[name] = true
		p.body.Inputs = append(p.body.Inputs, nn.Input{Name: name, Kind: types[name].Kind, Width: types[name].Width})
	}
	for _, n := range p.body.Nodes {
		if n.Op == opSparse {
			product := s.products[n.Name]
			p.sparse = append(p.sparse, product)
			p.body.Inputs = append(p.body.Inputs, product.inputs()...)
			continue
		}
		for _, in := range n.In {
			take(in)
		}
	}
	take(last)
}

func paramsOf(g *nn.Graph) map[string]*nn.Param {
	m := make(map[string]*nn.Param, len(g.Params))
	for i := range g.Params {
		m[g.Params[i].Name] = &g.Params[i]
	}
	return m
}

// sparseProduct is a product of rows that are nearly all zeros with a param: rows that consist of
// one-hot ids, maybe with some numbers, and trained values. Training computes only its nonzero
// elements.
type sparseProduct struct {
	node   *nn.Node   // the MatMul
	blocks []nn.Block // of the front
	dense  []nn.Block // of trained values
	places int        // number of elements of a row that may be nonzero
}

// opSparse, which occurs only in the body of a graph, is the product of a sparse matrix, given as
// its values and their columns, with a param. opRows is x times the rows from Start up to, not
// including, End of a param.
const (
	opSparse nn.Op = "SparseMatMul"
	opRows   nn.Op = "RowsMatMul"
)

// lowered returns the nodes that replace the MatMul: a product for each trained block, and one for
// all others.
func (p *sparseProduct) lowered() []nn.Node {
	w := p.node.In[1]
	nodes := []nn.Node{{Name: p.name("of ids"), Op: opSparse, In: []string{p.valuesName(), p.idsName(), w}}}
	for _, b := range p.dense {
		before := nodes[len(nodes)-1].Name
		product := nn.Node{Name: p.name("of " + b.Name), Op: opRows, In: []string{b.Name, w}, Attr: nn.Attr{Start: b.At, End: b.At + b.Width}}
		sum := nn.Node{Name: p.name("with " + b.Name), Op: nn.OpAdd, In: []string{product.Name, before}}
		nodes = append(nodes, product, sum)
	}
	nodes[len(nodes)-1].Name = p.node.Name
	return nodes
}

// inputs returns the inputs of the first of them.
func (p *sparseProduct) inputs() []nn.Input {
	return []nn.Input{{Name: p.valuesName(), Kind: nn.Float32, Width: p.places}, {Name: p.idsName(), Kind: nn.Int64, Width: p.places}}
}

// name returns names that no node has, made from the product's own.
func (p *sparseProduct) name(what string) string { return "(" + p.node.Name + " " + what + ")" }
func (p *sparseProduct) valuesName() string      { return p.name("values") }
func (p *sparseProduct) idsName() string         { return p.name("ids") }

// sparseProducts finds the products of g for which a sparse computation is faster.
func (s *splitter) sparseProducts(types map[string]nn.Type) map[string]*sparseProduct {
	found := map[string]*sparseProduct{}
	for i := range s.graph.Nodes {
		n := &s.graph.Nodes[i]
		if n.Op != nn.OpMatMul || !s.trained[n.Name] {
			continue
		}
		p := &sparseProduct{node: n}
		for _, b := range s.graph.Blocks(n.In[0], types) {
			if s.trained[b.Name] {
				p.dense = append(p.dense, b)
				continue
			}
			p.blocks = append(p.blocks, b)
			p.places += b.Width
		}
		if nn.MostlyZeros(p.blocks) {
			found[n.Name] = p
		}
	}
	return found
}

// sparseFeed fills a machine's memory for one sparse product.
type sparseFeed struct {
	*sparseProduct
	values []float32 // [batch, places]
	ids    []int     // [batch, places], -1 for none
}

// take writes rows from the front, and then repeats the first one until the batch is full, as
// feed.take does.
func (f *sparseFeed) take(front *nn.Evaluator, rows int) {
	place := 0
	for _, b := range f.blocks {
		switch v := front.Value(b.Name); b.Depth {
		case 0:
			f.numbers(b, place, v.Floats[:rows*b.Width])
		default:
			f.hot(b, place, v.Ints[:rows*b.Width])
		}
		place += b.Width
	}
	for r := rows * f.places; r < len(f.ids); r += f.places {
		copy(f.ids[r:r+f.places], f.ids[:f.places])
		copy(f.values[r:r+f.places], f.values[:f.places])
	}
}

// numbers writes the elements of a block of numbers, from a position on, row by row.
func (f *sparseFeed) numbers(b nn.Block, place int, numbers []float32) {
	for at := place; len(numbers) > 0; at += f.places {
		copy(f.values[at:], numbers[:b.Width])
		for i := range b.Width {
			f.ids[at+i] = b.At + i
		}
		numbers = numbers[b.Width:]
	}
}

// hot writes the elements of a block of one-hot ids. An id outside of its depth counts as none.
func (f *sparseFeed) hot(b nn.Block, place int, ids []int64) {
	for at := place; len(ids) > 0; at += f.places {
		column := b.At
		for i, id := range ids[:b.Width] {
			to, value := -1, float32(0)
			if uint64(id) < uint64(b.Depth) {
				to, value = column+int(id), 1
			}
			f.ids[at+i], f.values[at+i] = to, value
			column += b.Depth
		}
		ids = ids[b.Width:]
	}
}
