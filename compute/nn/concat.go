package nn

import (
	"fmt"
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
