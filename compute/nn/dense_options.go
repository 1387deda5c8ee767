package nn

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/nn/initializer"
)

// DenseOptions are the arguments of Keras's Dense. The zero value is Dense's own, without an activation.
type DenseOptions struct {
	Activation Op // OpRelu and its kin; "" for none
	NoBias     bool
	Kernel     ParamOptions // begins by initializer.GlorotUniform where nothing is said
	Bias       ParamOptions // begins by initializer.Zeros where nothing is said
}

// ParamOptions say how a param begins, and what its values add to the loss.
type ParamOptions struct {
	Initializer initializer.Func // nil: the layer's own
	Penalty     Penalty
}

// DenseWith is Dense with options.
func (b *Builder) DenseWith(name string, x Ref, units int, o DenseOptions) Ref {
	t := Type{Float32, units}
	kernel := b.paramWith(name+"/kernel", o.Kernel, initializer.GlorotUniform, x.Type.Width, units)
	y := b.node(name+"/MatMul", t, Node{Op: OpMatMul, In: []string{x.Name, kernel}})
	if !o.NoBias {
		bias := b.paramWith(name+"/bias", o.Bias, initializer.Zeros, units)
		y = b.node(name+"/AddBias", t, Node{Op: OpAddBias, In: []string{y.Name, bias}})
	}
	if o.Activation == "" {
		return y
	}
	return b.Activation(name+"/"+string(o.Activation), y, o.Activation)
}

// EmbeddingWith is Embedding with options for its table.
func (b *Builder) EmbeddingWith(name string, ids Ref, depth, dim int, o ParamOptions) Ref {
	table := b.paramWith(name+"/embeddings", o, initializer.SmallUniform, depth, dim)
	t := Type{Float32, ids.Type.Width * dim}
	return b.node(name+"/Embed", t, Node{Op: OpEmbed, In: []string{ids.Name, table}, Attr: Attr{Depth: depth}})
}

// paramWith is param with options, and how it begins without.
func (b *Builder) paramWith(name string, o ParamOptions, init initializer.Func, shape ...int) string {
	if o.Initializer != nil {
		init = o.Initializer
	}
	if err := o.Penalty.check(); err != nil {
		b.fail(fmt.Errorf("param %q: %w", name, err))
	}
	before := len(b.graph.Params)
	b.param(name, init, shape...)
	if len(b.graph.Params) > before {
		b.graph.Params[before].Penalty = o.Penalty
	}
	return name
}
