package nn

// Normalize is y = (x - mean) * scale, by column; scale is 1/standard deviation. Both stay as they are in training.
func (b *Builder) Normalize(name string, x Ref, mean, scale []float32) Ref {
	y := b.node(name+"/Sub", x.Type, Node{Op: OpSub, In: []string{x.Name, b.Constant(name+"/mean", mean...).Name}})
	return b.node(name+"/Mul", x.Type, Node{Op: OpMul, In: []string{y.Name, b.Constant(name+"/scale", scale...).Name}})
}

// DropNaN makes NaN 0: after Normalize, what is missing becomes the mean.
func (b *Builder) DropNaN(name string, x Ref) Ref {
	return b.node(name, x.Type, Node{Op: OpDropNaN, In: []string{x.Name}})
}
