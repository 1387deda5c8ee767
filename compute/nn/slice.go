package nn

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Slice is the columns start up to, not including, end.
func (b *Builder) Slice(name string, x Ref, start, end int) Ref {
	return b.node(name, Type{Float32, end - start}, Node{Op: OpSlice, In: []string{x.Name}, Attr: Attr{Start: start, End: end}})
}

func (c *checker) slice(n *Node) (Type, error) {
	x, err := c.same(n, Float32)
	start, end := n.Attr.Start, n.Attr.End
	if err == nil && (start < 0 || end <= start || end > x.Width) {
		err = fmt.Errorf("columns %d to %d of %s", start, end, x)
	}
	return Type{Float32, end - start}, err
}

func slice(s *step, rows int) error {
	w, n := s.in[0].Width, s.out.Width
	for r := range rows {
		copy(s.out.Floats[r*n:(r+1)*n], s.in[0].Floats[r*w+s.node.Attr.Start:])
	}
	return nil
}

// slice writes the columns of x from start.
func (l *lowering) slice(x *gorgonia.Node, start, end int) *gorgonia.Node {
	return l.run(func() (*gorgonia.Node, error) { return columnsNode(x, start, end) })
}

// rows are some of a matrix: columns of all its numbers in one row.
func (l *lowering) rows(x *gorgonia.Node, start, end int) *gorgonia.Node {
	if l.err != nil {
		return nil
	}
	width := x.Shape()[1]
	flat := l.reshape(x, 1, x.Shape().TotalSize())
	return l.reshape(l.slice(flat, start*width, end*width), end-start, width)
}

func (l *lowering) reshape(x *gorgonia.Node, rows, cols int) *gorgonia.Node {
	return l.run(func() (*gorgonia.Node, error) { return gorgonia.Reshape(x, tensor.Shape{rows, cols}) })
}

// constant is a matrix that training leaves alone.
func (l *lowering) constant(shape tensor.Shape, values []float32) *gorgonia.Node {
	l.constants++
	return gorgonia.NewMatrix(l.expr, tensor.Float32, gorgonia.WithName(fmt.Sprintf("constant %d", l.constants)),
		gorgonia.WithValue(tensor.New(tensor.WithShape(shape...), tensor.WithBacking(values))))
}

func (l *lowering) ones(shape tensor.Shape) *gorgonia.Node {
	values := make([]float32, shape.TotalSize())
	for i := range values {
		values[i] = 1
	}
	return l.constant(shape, values)
}
