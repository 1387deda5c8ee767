package nn

import "slices"

// InputsOf are the names of the inputs that a node's value is made of, in the order of Graph.Inputs.
func (g *Graph) InputsOf(node string) []string {
	reached := map[string]bool{node: true}
	for _, n := range slices.Backward(g.Nodes) { // operands stand before what takes them
		if !reached[n.Name] {
			continue
		}
		for _, in := range n.In {
			reached[in] = true
		}
	}
	var names []string
	for _, in := range g.Inputs {
		if reached[in.Name] {
			names = append(names, in.Name)
		}
	}
	return names
}
