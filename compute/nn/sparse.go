package nn

// Block is neighboring columns of a matrix: one-hot ids, or numbers.
type Block struct {
	Name  string // of the value: ids, or the numbers themselves
	Depth int    // of ids; 0 for numbers
	Width int    // of the value
	At    int    // the first column
}

// Columns returns the number of columns of a block.
func (b Block) Columns() int { return b.Width * max(b.Depth, 1) }

// mostlyZeros is the ratio of columns to places from which on a product is computed by its places:
// looking a column up costs more than multiplying it.
const mostlyZeros = 4

// MostlyZeros reports whether rows made of blocks are worth a sparse product: a place is an element
// that may differ from 0.
func MostlyZeros(blocks []Block) bool {
	places, columns := 0, 0
	for _, b := range blocks {
		places += b.Width
		columns += b.Columns()
	}
	return places > 0 && places*mostlyZeros <= columns
}

// Blocks divides the columns of a value into one-hot ids and numbers, in their order. types are those
// of Types.
func (g *Graph) Blocks(name string, types map[string]Type) []Block {
	return blocksOf(name, g.nodes(), types, nil)
}

func blocksOf(name string, nodes map[string]*Node, types map[string]Type, before []Block) []Block {
	next := 0
	if len(before) > 0 {
		last := before[len(before)-1]
		next = last.At + last.Columns()
	}
	switch n := nodes[name]; {
	case n != nil && n.Op == OpConcat:
		for _, in := range n.In {
			before = blocksOf(in, nodes, types, before)
		}
		return before
	case n != nil && n.Op == OpOneHot:
		return append(before, Block{Name: n.In[0], Depth: n.Attr.Depth, Width: types[n.In[0]].Width, At: next})
	}
	return append(before, Block{Name: name, Width: types[name].Width, At: next})
}
