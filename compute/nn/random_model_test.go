package nn

import (
	"fmt"
	"math/rand/v2"
)

// grown is a model of random layers, with a batch for it.
type grown struct {
	*Builder
	r     *rand.Rand
	there []Ref
	n     int

	rows   int
	inputs map[string]Value
}

// grow makes a Model of some layers, each over values that are there already, of widths from 1 on.
func grow(seed uint64) (*Model, *grown, error) {
	g := &grown{Builder: NewBuilder(NewRand(int64(seed))), r: rand.New(rand.NewPCG(seed, 1)), inputs: map[string]Value{}}
	g.rows = []int{1, 2, 3, 7, 16, 17, 40}[g.r.IntN(7)]
	g.leaves()
	for range 2 + g.r.IntN(10) {
		g.there = append(g.there, g.layer(g.any()))
	}
	ends := []Ref{g.there[len(g.there)-1]}
	for range g.r.IntN(4) {
		ends = append(ends, g.any())
	}
	width := 1 + g.r.IntN(3)
	logits := g.Dense("logits", g.Concat("ends", ends...), width, "")
	g.Output("logits", logits)
	graph, err := g.Graph()
	if err != nil {
		return nil, nil, err
	}
	losses := []Loss{SoftmaxCrossEntropy{}, SigmoidCrossEntropy{}, MeanSquaredError{}, MeanAbsoluteError{}, Huber{Delta: 0.7},
		SoftmaxCrossEntropy{Smoothing: 0.1}, SigmoidCrossEntropy{Smoothing: 0.2}}
	m, err := NewModel(graph, logits.Name, losses[g.r.IntN(len(losses))])
	if err != nil {
		return nil, nil, err
	}
	for i := range m.Weights() {
		m.Weights()[i] += float32(g.r.NormFloat64()) / 20 // biases that aren't 0
	}
	m.Reduction = Reduction(g.r.IntN(2))
	if g.r.IntN(3) == 0 {
		m.ClassWeights = []float32{1, 3, 0.5}[:max(width, 2)]
	}
	return m, g, nil
}

func (g *grown) leaves() {
	w, ids := []int{1, 2, 5, 33}[g.r.IntN(4)], 1+g.r.IntN(3)
	x, y, id, s := make([]float32, g.rows*w), make([]float32, g.rows), make([]int64, g.rows*ids), make([]string, g.rows)
	for i := range x {
		x[i] = float32(g.r.NormFloat64())
	}
	for i := range y {
		y[i] = float32(g.r.NormFloat64())
		s[i] = []string{"a", "b", "zz"}[g.r.IntN(3)]
	}
	for i := range id {
		id[i] = int64(g.r.IntN(12))
	}
	g.inputs["x"], g.inputs["y"], g.inputs["id"], g.inputs["s"] = Floats(w, x...), Floats(1, y...), Ints(ids, id...), Strings(1, s...)
	token := g.Vocabulary("token", g.Input("s", String, 1), []string{"a", "b"})
	in := g.Input("id", Int64, ids)
	g.there = []Ref{g.Input("x", Float32, w), g.Input("y", Float32, 1), g.Embedding("table", in, 12, 1+g.r.IntN(3)),
		g.OneHot("hot", in, 4+g.r.IntN(40)), g.OneHot("token/hot", token, 3), g.Embedding("tokens", token, 3, 2)}
}

func (g *grown) any() Ref { return g.there[g.r.IntN(len(g.there))] }

func (g *grown) next(what string) string {
	g.n++
	return fmt.Sprintf("%s %d", what, g.n)
}

// of is a value of that width.
func (g *grown) of(width int) Ref {
	for range 8 {
		if x := g.any(); x.Type.Width == width {
			return x
		}
	}
	return g.Dense(g.next("of"), g.any(), width, OpTanh)
}

// beside is a value that can be combined with one of that width.
func (g *grown) beside(width int) Ref {
	switch g.r.IntN(4) {
	case 0:
		return g.of(1)
	case 1:
		return g.Constant(g.next("constant"), float32(g.r.NormFloat64()))
	}
	return g.of(width)
}

// above is x made larger than 0.
func (g *grown) above(x Ref) Ref {
	return g.Add(g.next("above"), g.Activation(g.next("softplus"), x, OpSoftplus), g.Constant(g.next("half"), 0.5))
}

func (g *grown) small(x Ref) Ref { return g.Activation(g.next("tanh"), x, OpTanh) }

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func (g *grown) layer(x Ref) Ref {
	w := x.Type.Width
	switch g.r.IntN(15) {
	case 0, 1:
		return g.Dense(g.next("dense"), x, 1+g.r.IntN(8), pick(g.r, "", OpRelu, OpTanh, OpSigmoid, OpSoftplus, OpSoftmax))
	case 2:
		o := DenseOptions{NoBias: g.r.IntN(2) == 0, Kernel: ParamOptions{Penalty: Penalty{L1: 0.01, L2: 0.02}}, Bias: ParamOptions{Penalty: Penalty{L2: 0.1}}}
		return g.DenseWith(g.next("dense"), x, pick(g.r, 1, 3, 40), o)
	case 3:
		return g.Concat(g.next("concat"), x, g.any(), g.any())
	case 4:
		combine := pick(g.r, g.Add, g.Sub, g.Maximum, g.Minimum)
		return combine(g.next("combine"), x, g.beside(w))
	case 5:
		return g.small(g.Mul(g.next("mul"), x, g.beside(w)))
	case 6:
		return g.Div(g.next("div"), x, g.above(g.of(pick(g.r, 1, w))))
	case 7:
		return g.LayerNormalization(g.next("layernorm"), x, 0.1)
	case 8:
		from := g.r.IntN(w)
		return g.Slice(g.next("slice"), x, from, from+1+g.r.IntN(w-from))
	case 9:
		return pick(g.r, g.Sum, g.Mean, g.Max)(g.next("reduce"), x)
	case 10:
		return g.BatchNormalization(g.next("norm"), x, BatchNorm{Epsilon: 0.1, NoScale: g.r.IntN(4) == 0, NoCenter: g.r.IntN(4) == 0})
	case 11:
		return g.Dropout(g.next("drop"), x, 0.4)
	case 12:
		return g.LeakyRelu(g.next("leaky"), x, 0.2)
	case 13:
		return g.Apply(g.next("apply"), g.small(x), pick(g.r, OpNeg, OpAbs, OpExp, OpExpm1, OpSquare, OpRelu))
	}
	return g.Apply(g.next("apply"), g.above(x), pick(g.r, OpInverse, OpSqrt, OpLog, OpLog1p))
}

// batch is what the model learns from: as many rows as there are.
func (g *grown) batch(m *Model) Batch {
	b := Batch{Rows: g.rows, Inputs: g.inputs, Targets: make([]float32, g.rows*m.Width())}
	for r := range g.rows {
		b.Targets[r*m.Width()+g.r.IntN(m.Width())] = float32(g.r.IntN(3-min(m.Width(), 2))) + float32(min(m.Width(), 2)-1)
	}
	if g.r.IntN(2) == 0 {
		b.Weights = make([]float32, g.rows)
		for i := range b.Weights {
			b.Weights[i] = float32(g.r.IntN(3))
		}
		b.Weights[g.r.IntN(g.rows)] = 1.5
	}
	return b
}
