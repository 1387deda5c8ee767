package nn

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/nn/initializer"
)

// Dense is y = act(x W + c): kernel W [in, units] by initializer.GlorotUniform, bias c [units] by
// Zeros, as Keras's Dense. act is OpRelu, OpTanh, OpSigmoid, OpSoftmax or "" for none.
func (b *Builder) Dense(name string, x Ref, units int, act Op) Ref {
	return b.DenseWith(name, x, units, DenseOptions{Activation: act})
}

// matMul is the rule of rows times a matrix.
func (c *checker) matMul(n *Node) (Type, error) {
	t, shape, err := c.withParam(n, Float32, 2)
	if err == nil && shape[0] != t.Width {
		err = fmt.Errorf("%s times param of shape %v", t, shape)
	}
	if err != nil {
		return Type{}, err
	}
	return Type{Float32, shape[1]}, nil
}

// rowParam is the rule of a param that broadcasts over every row.
func (c *checker) rowParam(n *Node) (Type, error) {
	t, shape, err := c.withParam(n, Float32, 1)
	if err == nil && shape[0] != t.Width {
		err = fmt.Errorf("%s with param of shape %v", t, shape)
	}
	return t, err
}

// DenseOptions are the arguments of Keras's Dense. The zero value has Dense's defaults and no
// activation.
type DenseOptions struct {
	Activation Op // OpRelu and the like; "" for none
	NoBias     bool
	Kernel     ParamOptions // initialized by initializer.GlorotUniform by default
	Bias       ParamOptions // initialized by initializer.Zeros by default
}

// ParamOptions define how a param is initialized, and what its values add to the loss.
type ParamOptions struct {
	Initializer initializer.Func // nil: the layer's default
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

// paramWith is param with options and a default initializer.
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

// Table looks up a row of dim trained numbers for each id, as Embedding does, in a param with a
// given name and initializer: ids [b,w] become [b, w*dim].
func (b *Builder) Table(name, param string, init initializer.Func, ids Ref, depth, dim int) Ref {
	table := b.param(param, init, depth, dim)
	t := Type{Float32, ids.Type.Width * dim}
	return b.node(name, t, Node{Op: OpEmbed, In: []string{ids.Name, table}, Attr: Attr{Depth: depth}})
}

// Matrix is x W, with a kernel W [in, units] with a given name and initializer.
func (b *Builder) Matrix(name, param string, init initializer.Func, x Ref, units int) Ref {
	kernel := b.param(param, init, x.Type.Width, units)
	return b.node(name, Type{Float32, units}, Node{Op: OpMatMul, In: []string{x.Name, kernel}})
}

// Bias is x + c, with c [n] from 0, with a given name.
func (b *Builder) Bias(name, param string, x Ref) Ref {
	bias := b.param(param, initializer.Zeros, x.Type.Width)
	return b.node(name, x.Type, Node{Op: OpAddBias, In: []string{x.Name, bias}})
}

// WideDeep are the arguments of Builder.WideDeep: the wide & deep model of TFX's Chicago taxi
// example (taxi_utils_native_keras.py, after Cheng et al. 2016). The numbers in comments are the
// example's.
type WideDeep struct {
	Deep   []Ref // numbers, already scaled: trip_miles, fare, trip_seconds
	Hidden []int // units of the deep layers, from the first on: 100, 70, 48, 34

	// Activation is that of the deep layers. The example has "", none.
	Activation Op

	Wide []Ref // int64 ids, each of width 1 or more: vocabularies, buckets, categories
	// Of each of Wide: 1010 for a vocabulary, 10 for buckets, 24, 31 and 13 for hour, day and
	// month.
	Depth []int

	Units int // of the logits; 0: 1, as in the example
}

// WideDeep passes numbers through dense layers, and concatenates the result with one-hot ids, each
// of its own depth. A dense layer over both gives the logits. An id outside of its depth counts as
// none. Layers are called <name>/deep_0, <name>/deep_1 and so on, and <name>/logits.
func (b *Builder) WideDeep(name string, o WideDeep) Ref {
	if len(o.Deep) == 0 || len(o.Hidden) == 0 || len(o.Wide) == 0 || len(o.Depth) != len(o.Wide) {
		b.fail(fmt.Errorf("wide & deep %q: %d numbers, %d hidden layers, %d ids with %d depths: expected some of each, and a depth for each id",
			name, len(o.Deep), len(o.Hidden), len(o.Wide), len(o.Depth)))
		return Ref{Type: Type{Float32, 1}}
	}
	deep := b.together(name+"/deep", o.Deep)
	for i, units := range o.Hidden {
		deep = b.Dense(fmt.Sprintf("%s/deep_%d", name, i), deep, units, o.Activation)
	}
	hot := []Ref{deep}
	for i, ids := range o.Wide {
		hot = append(hot, b.OneHot(fmt.Sprintf("%s/wide_%d", name, i), ids, o.Depth[i]))
	}
	return b.Dense(name+"/logits", b.Concat(name+"/all", hot...), max(o.Units, 1), "")
}

// together concatenates xs.
func (b *Builder) together(name string, xs []Ref) Ref {
	if len(xs) == 1 {
		return xs[0]
	}
	return b.Concat(name, xs...)
}

// Embedding looks up a row of dim trained numbers for each id: ids [b,w] become [b, w*dim]. The
// table [depth, dim] starts by initializer.SmallUniform, as Keras's Embedding. Ids must be within
// 0..depth-1.
func (b *Builder) Embedding(name string, ids Ref, depth, dim int) Ref {
	return b.EmbeddingWith(name, ids, depth, dim, ParamOptions{})
}

// embed is the rule of rows looked up in a table.
func (c *checker) embed(n *Node) (Type, error) {
	t, shape, err := c.withParam(n, Int64, 2)
	if err != nil {
		return Type{}, err
	}
	if n.Attr.Depth != 0 && n.Attr.Depth != shape[0] {
		return Type{}, fmt.Errorf("depth %d, but the param has shape %v", n.Attr.Depth, shape)
	}
	return Type{Float32, t.Width * shape[1]}, nil
}
