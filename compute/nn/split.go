package nn

// split divides what the node named last needs into two graphs. Front holds what no trainable param reaches: string
// look-ups, one-hot, normalisation. Plain Go computes it, outside Gorgonia. Body is the rest, with the values it takes
// from the front as inputs.
func (g *Graph) split(last string) (front, body *Graph, err error) {
	types, err := g.Types()
	if err != nil {
		return nil, nil, err
	}
	s := splitter{graph: g, params: g.params(), trained: map[string]bool{}, needed: map[string]bool{last: true}}
	s.markTrained()
	s.markNeeded()
	front, body = &Graph{}, &Graph{}
	s.divide(front, body)
	s.join(body, types, last)
	return front, body, nil
}

type splitter struct {
	graph   *Graph
	params  map[string]*Param
	trained map[string]bool // nodes that a trainable param reaches
	needed  map[string]bool // nodes, inputs and params that last needs
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
		for _, in := range n.In {
			s.needed[in] = true
		}
	}
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
		case s.trained[n.Name]:
			body.Nodes = append(body.Nodes, n)
		default:
			front.Nodes = append(front.Nodes, n)
		}
	}
}

// join makes inputs of body from what it takes from the front, in the order of first use.
func (s *splitter) join(body *Graph, types map[string]Type, last string) {
	seen := map[string]bool{}
	take := func(name string) {
		if s.trained[name] || s.params[name] != nil || seen[name] {
			return
		}
		seen[name] = true
		body.Inputs = append(body.Inputs, Input{Name: name, Kind: types[name].Kind, Width: types[name].Width})
	}
	for _, n := range body.Nodes {
		for _, in := range n.In {
			take(in)
		}
	}
	take(last)
}
