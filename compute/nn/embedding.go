package nn

// Embedding looks up a row of dim trained numbers for each id: ids [b,w] become [b, w*dim]. The table [depth, dim] starts by
// SmallUniform, as Keras's Embedding. Ids must be within 0..depth-1.
func (b *Builder) Embedding(name string, ids Ref, depth, dim int) Ref {
	table := b.param(name+"/embeddings", SmallUniform, depth, dim)
	t := Type{Float32, ids.Type.Width * dim}
	return b.node(name+"/Embed", t, Node{Op: OpEmbed, In: []string{ids.Name, table}, Attr: Attr{Depth: depth}})
}
