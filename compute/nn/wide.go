package nn

import "github.com/stoker-ml/stoker/compute/nn/initializer"

// Table looks up a row of dim trained numbers for each id, as Embedding does, in a param that is called and begun as said: ids
// [b,w] become [b, w*dim].
func (b *Builder) Table(name, param string, init initializer.Func, ids Ref, depth, dim int) Ref {
	table := b.param(param, init, depth, dim)
	t := Type{Float32, ids.Type.Width * dim}
	return b.node(name, t, Node{Op: OpEmbed, In: []string{ids.Name, table}, Attr: Attr{Depth: depth}})
}

// Matrix is x W, with a kernel W [in, units] that is called and begun as said.
func (b *Builder) Matrix(name, param string, init initializer.Func, x Ref, units int) Ref {
	kernel := b.param(param, init, x.Type.Width, units)
	return b.node(name, Type{Float32, units}, Node{Op: OpMatMul, In: []string{x.Name, kernel}})
}

// Bias is x + c, with c [n] from 0, called as said.
func (b *Builder) Bias(name, param string, x Ref) Ref {
	bias := b.param(param, initializer.Zeros, x.Type.Width)
	return b.node(name, x.Type, Node{Op: OpAddBias, In: []string{x.Name, bias}})
}
