package nn

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Concat puts values side by side: widths add up.
func (b *Builder) Concat(name string, xs ...Ref) Ref {
	n := Node{Op: OpConcat}
	t := Type{Kind: Float32}
	for _, x := range xs {
		n.In = append(n.In, x.Name)
		t.Width += x.Type.Width
	}
	return b.node(name, t, n)
}

// concat is the rule of values side by side.
func (c *checker) concat(n *Node) (Type, error) {
	sum := Type{Kind: Float32}
	for i := range n.In {
		t, err := c.in(n, i, Float32)
		if err != nil {
			return Type{}, err
		}
		sum.Width += t.Width
	}
	if len(n.In) == 0 {
		return Type{}, fmt.Errorf("nothing to join")
	}
	return sum, nil
}

// concat is y[r,:] = x1[r,:], x2[r,:] and so on.
func concat(s *step, rows int) error {
	y, width := s.out.Floats, s.out.Width
	for _, in := range s.in {
		writeColumns(y, width, in.Floats[:rows*in.Width], in.Width)
		y = y[min(in.Width, len(y)):]
	}
	return nil
}

// writeColumns writes rows x, n columns wide, into the first n columns of y, which has width.
func writeColumns(y []float32, width int, x []float32, n int) {
	if n == 1 { // a feature of one number, as most are
		for r, v := range x {
			y[r*width] = v
		}
		return
	}
	for at := 0; len(x) > 0; at += width {
		copy(y[at:], x[:n])
		x = x[n:]
	}
}

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
