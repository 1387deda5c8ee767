package partition

import (
	"fmt"
	"slices"

	"github.com/stoker-ml/stoker/compute/nn"
)

// Graph is what of g its outputs need and holds says a file can hold, and the inputs that such a
// file has, in g's order, with those in the place of a node left out where that node stood first. A
// node may be left out only if it computes an input's ids; another one that can't be held is an
// error that names it. The result shares params and attributes with g.
func Graph(g *nn.Graph, holds func(nn.Op) bool) (*nn.Graph, []Input, error) {
	types, err := g.Types()
	if err != nil {
		return nil, nil, err
	}
	c := cutter{whole: g, types: types, holds: holds, needed: map[string]bool{}, sources: map[string]Source{}}
	if err := c.mark(); err != nil {
		return nil, nil, err
	}
	rest := c.rest()
	return rest, c.describe(rest.Inputs), nil
}

type cutter struct {
	whole   *nn.Graph
	types   map[string]nn.Type
	holds   func(nn.Op) bool
	needed  map[string]bool   // inputs, params and nodes that stay
	sources map[string]Source // of the nodes that are left out
}

// mark goes from the outputs back to what they are computed of, and stops at what is left out.
func (c *cutter) mark() error {
	for _, out := range c.whole.Outputs {
		c.needed[out.Node] = true
	}
	for i := len(c.whole.Nodes) - 1; i >= 0; i-- {
		n := c.whole.Nodes[i]
		if !c.needed[n.Name] {
			continue
		}
		if !c.holds(n.Op) {
			if err := c.leaveOut(n); err != nil {
				return err
			}
			continue
		}
		for _, in := range n.In {
			c.needed[in] = true
		}
	}
	return nil
}

// leaveOut leaves out a look-up of an input's strings, or a cross of inputs; nothing else can be
// described to callers.
func (c *cutter) leaveOut(n nn.Node) error {
	looksUp := n.Op == nn.OpVocab || n.Op == nn.OpHash || n.Op == nn.OpCross
	for _, name := range n.In {
		looksUp = looksUp && slices.ContainsFunc(c.whole.Inputs, func(in nn.Input) bool { return in.Name == name })
	}
	if !looksUp {
		return fmt.Errorf("node %q: op %s can't be expressed in this format", n.Name, n.Op)
	}
	c.sources[n.Name] = sourceOf(n)
	return nil
}

// rest is what stays, in the order of the whole.
func (c *cutter) rest() *nn.Graph {
	r := &nn.Graph{Outputs: c.whole.Outputs}
	for _, in := range c.whole.Inputs {
		if c.needed[in.Name] {
			r.Inputs = append(r.Inputs, in)
		}
		for _, n := range c.whole.Nodes {
			if s, ok := c.sources[n.Name]; ok && s.Features()[0] == in.Name {
				r.Inputs = append(r.Inputs, nn.Input{Name: n.Name, Kind: c.types[n.Name].Kind, Width: c.types[n.Name].Width})
			}
		}
	}
	for _, n := range c.whole.Nodes {
		if _, out := c.sources[n.Name]; c.needed[n.Name] && !out {
			r.Nodes = append(r.Nodes, n)
		}
	}
	for _, p := range c.whole.Params {
		if c.needed[p.Name] {
			r.Params = append(r.Params, p)
		}
	}
	return r
}

func (c *cutter) describe(inputs []nn.Input) []Input {
	all := make([]Input, len(inputs))
	for i, in := range inputs {
		all[i] = Input{Name: in.Name, Type: in.Kind.String(), Shape: [2]int{-1, in.Width}}
		if s, ok := c.sources[in.Name]; ok {
			all[i].ComputedFrom = &s
			all[i].Note = s.note()
		}
	}
	return all
}
