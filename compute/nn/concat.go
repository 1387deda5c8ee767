package nn

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
