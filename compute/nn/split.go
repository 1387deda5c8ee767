package nn

import "slices"

// split divides what the node named last needs into two graphs. Front holds what no trainable param reaches: string
// look-ups, one-hot, normalisation. Plain Go computes it, outside Gorgonia. Body is the rest, with the values it takes
// from the front as inputs; what sparse products take instead of rows that are nearly all zeros is made by a sparseFeed for each.
func (g *Graph) split(last string) (*parts, error) {
	types, err := g.Types()
	if err != nil {
		return nil, err
	}
	s := splitter{graph: g, params: g.params(), trained: map[string]bool{}, needed: map[string]bool{last: true}, products: map[string]*sparse{}}
	s.markTrained()
	s.sparse = s.sparseProducts(types)
	s.markNeeded()
	p := &parts{front: &Graph{}, body: &Graph{}}
	s.divide(p.front, p.body)
	s.join(p, types, last)
	return p, nil
}

// parts are what a graph is divided into.
type parts struct {
	front, body *Graph
	sparse      []*sparse
}

type splitter struct {
	graph   *Graph
	params  map[string]*Param
	trained map[string]bool    // nodes that a trainable param reaches
	needed  map[string]bool    // nodes, inputs and params that last needs
	sparse  map[string]*sparse // by the products that they stand for

	products map[string]*sparse // by the nodes that compute them
}

func (s *splitter) markTrained() {
	for _, n := range s.graph.Nodes {
		for _, in := range n.In {
			p := s.params[in]
			s.trained[n.Name] = s.trained[n.Name] || trainsOnly(n.Op) || s.trained[in] || p != nil && p.Trainable
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

// operands are what is taken of other nodes: of a sparse product, what its rows are made of.
func (s *splitter) operands(n *Node) []string {
	p := s.sparse[n.Name]
	if p == nil {
		return n.In
	}
	in := []string{n.In[1]}
	for _, b := range slices.Concat(p.blocks, p.dense) {
		in = append(in, b.name)
	}
	return in
}

func (s *splitter) divide(front, body *Graph) {
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

// lowered are the nodes of a sparse product; what they compute depends on a param, as it did.
func (s *splitter) lowered(name string) []Node {
	p := s.sparse[name]
	nodes := p.lowered()
	for _, n := range nodes {
		s.trained[n.Name] = true
	}
	s.products[nodes[0].Name] = p
	return nodes
}

// join makes inputs of the body from what it takes from the front, in the order of first use.
func (s *splitter) join(p *parts, types map[string]Type, last string) {
	seen := map[string]bool{}
	take := func(name string) {
		if s.trained[name] || s.params[name] != nil || seen[name] {
			return
		}
		seen[name] = true
		p.body.Inputs = append(p.body.Inputs, Input{Name: name, Kind: types[name].Kind, Width: types[name].Width})
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
