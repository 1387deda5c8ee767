package nn

// sparse is a product of rows that are nearly all zeros with a param: rows made of one-hot ids, maybe with some numbers, and
// what is trained. A training computes it by what isn't zero.
type sparse struct {
	node   *Node   // the MatMul
	blocks []block // of the front
	dense  []block // of what is trained
	places int     // of a row that may be other than 0
}

// opSparse is, in the body of a graph alone, the product of a sparse matrix, as its values and their columns, with a param. opRows is
// x times the rows Start up to, not including, End of a param.
const (
	opSparse Op = "SparseMatMul"
	opRows   Op = "RowsMatMul"
)

// lowered are the nodes that stand in the place of the MatMul: a product for each block that is trained, and one for all others.
func (p *sparse) lowered() []Node {
	w := p.node.In[1]
	nodes := []Node{{Name: p.name("of ids"), Op: opSparse, In: []string{p.valuesName(), p.idsName(), w}}}
	for _, b := range p.dense {
		before := nodes[len(nodes)-1].Name
		product := Node{Name: p.name("of " + b.name), Op: opRows, In: []string{b.name, w}, Attr: Attr{Start: b.at, End: b.at + b.width}}
		sum := Node{Name: p.name("with " + b.name), Op: OpAdd, In: []string{product.Name, before}}
		nodes = append(nodes, product, sum)
	}
	nodes[len(nodes)-1].Name = p.node.Name
	return nodes
}

// inputs are what the first of them takes.
func (p *sparse) inputs() []Input {
	return []Input{{p.valuesName(), Float32, p.places}, {p.idsName(), Int64, p.places}}
}

// Names made of the product's own, as no node's is.
func (p *sparse) name(what string) string { return "(" + p.node.Name + " " + what + ")" }
func (p *sparse) valuesName() string      { return p.name("values") }
func (p *sparse) idsName() string         { return p.name("ids") }

// block is some neighbouring columns of a sparse matrix: one-hot ids, or numbers.
type block struct {
	name  string // of the value: ids, or the numbers themselves
	depth int    // of ids; 0 for numbers
	width int    // of the value
	at    int    // the first column
}

// columns is how many a block has.
func (b block) columns() int { return b.width * max(b.depth, 1) }

// mostlyZeros is how many times more columns than places a product needs to be computed by its places: looking a column up costs
// more than going through it.
const mostlyZeros = 4

// sparseProducts finds the products of g that are worth it.
func (s *splitter) sparseProducts(types map[string]Type) map[string]*sparse {
	nodes := s.graph.nodes()
	found := map[string]*sparse{}
	for _, n := range nodes {
		if n.Op != OpMatMul || !s.trained[n.Name] {
			continue
		}
		p := &sparse{node: n}
		for _, b := range blocksOf(n.In[0], nodes, types, nil) {
			if s.trained[b.name] {
				p.dense = append(p.dense, b)
				continue
			}
			p.blocks = append(p.blocks, b)
			p.places += b.width
		}
		if sparseRows(p.blocks) {
			found[n.Name] = p
		}
	}
	return found
}

// sparseRows says whether rows made of blocks are mostly zeros.
func sparseRows(blocks []block) bool {
	places, columns := 0, 0
	for _, b := range blocks {
		places += b.width
		columns += b.columns()
	}
	return places > 0 && places*mostlyZeros <= columns
}

// blocksOf takes a value apart into one-hot ids and numbers, side by side.
func blocksOf(name string, nodes map[string]*Node, types map[string]Type, before []block) []block {
	next := 0
	if len(before) > 0 {
		last := before[len(before)-1]
		next = last.at + last.columns()
	}
	switch n := nodes[name]; {
	case n != nil && n.Op == OpConcat:
		for _, in := range n.In {
			before = blocksOf(in, nodes, types, before)
		}
		return before
	case n != nil && n.Op == OpOneHot:
		return append(before, block{name: n.In[0], depth: n.Attr.Depth, width: types[n.In[0]].Width, at: next})
	}
	return append(before, block{name: name, width: types[name].Width, at: next})
}

// sparseFeed fills a machine's memory for one sparse product.
type sparseFeed struct {
	*sparse
	values []float32 // [batch, places]
	ids    []int     // [batch, places], -1 for none
}

// take writes rows from the front, and then the first of them until the batch is full, as feed.take does.
func (f *sparseFeed) take(front *Evaluator, rows int) {
	place := 0
	for _, b := range f.blocks {
		switch v := front.Value(b.name); b.depth {
		case 0:
			f.numbers(b, place, v.Floats[:rows*b.width])
		default:
			f.hot(b, place, v.Ints[:rows*b.width])
		}
		place += b.width
	}
	for r := rows * f.places; r < len(f.ids); r += f.places {
		copy(f.ids[r:r+f.places], f.ids[:f.places])
		copy(f.values[r:r+f.places], f.values[:f.places])
	}
}

// numbers writes the places of a block of numbers, from the place on, row by row.
func (f *sparseFeed) numbers(b block, place int, numbers []float32) {
	for at := place; len(numbers) > 0; at += f.places {
		copy(f.values[at:], numbers[:b.width])
		for i := range b.width {
			f.ids[at+i] = b.at + i
		}
		numbers = numbers[b.width:]
	}
}

// hot writes the places of a block of one-hot ids. An id outside of its depth counts as none.
func (f *sparseFeed) hot(b block, place int, ids []int64) {
	for at := place; len(ids) > 0; at += f.places {
		column := b.at
		for i, id := range ids[:b.width] {
			to, value := -1, float32(0)
			if uint64(id) < uint64(b.depth) {
				to, value = column+int(id), 1
			}
			f.ids[at+i], f.values[at+i] = to, value
			column += b.depth
		}
		ids = ids[b.width:]
	}
}
