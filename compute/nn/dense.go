package nn

// Dense is y = act(x W + c): kernel W [in, units] by GlorotUniform, bias c [units] by Zeros, as Keras's Dense. act is OpRelu,
// OpTanh, OpSigmoid, OpSoftmax or "" for none.
func (b *Builder) Dense(name string, x Ref, units int, act Op) Ref {
	t := Type{Float32, units}
	kernel := b.param(name+"/kernel", GlorotUniform, x.Type.Width, units)
	bias := b.param(name+"/bias", Zeros, units)
	y := b.node(name+"/MatMul", t, Node{Op: OpMatMul, In: []string{x.Name, kernel}})
	y = b.node(name+"/AddBias", t, Node{Op: OpAddBias, In: []string{y.Name, bias}})
	if act == "" {
		return y
	}
	return b.Activation(name+"/"+string(act), y, act)
}
