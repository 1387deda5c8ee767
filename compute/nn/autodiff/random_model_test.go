package autodiff

import (
	"fmt"
	"math/rand/v2"

	"github.com/stoker-ml/stoker/compute/nn"
)

// grown is a model of random layers, with a batch for it.
type grown struct {
	*nn.Builder
	r     *rand.Rand
	there []nn.Ref
	n     int

	rows   int
	inputs map[string]nn.Value
}

// grow makes a Model of random layers, each over existing values, of widths from 1 on.
func grow(seed uint64) (*nn.Model, *grown, error) {
	g := &grown{Builder: nn.NewBuilder(nn.NewRand(int64(seed))), r: rand.New(rand.NewPCG(seed, 1)), inputs: map[string]nn.Value{}}
	g.rows = []int{1, 2, 3, 7, 16, 17, 40}[g.r.IntN(7)]
	g.leaves()
	for range 2 + g.r.IntN(10) {
		g.there = append(g.there, g.layer(g.any()))
	}
	ends := []nn.Ref{g.there[len(g.there)-1]}
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
	losses := []nn.Loss{nn.SoftmaxCrossEntropy{}, nn.SigmoidCrossEntropy{}, nn.MeanSquaredError{}, nn.MeanAbsoluteError{}, nn.Huber{Delta: 0.7},
		nn.SoftmaxCrossEntropy{Smoothing: 0.1}, nn.SigmoidCrossEntropy{Smoothing: 0.2}}
	m, err := nn.NewModel(graph, logits.Name, losses[g.r.IntN(len(losses))])
	if err != nil {
		return nil, nil, err
	}
	for i := range m.Weights() {
		m.Weights()[i] += float32(g.r.NormFloat64()) / 20 // biases that aren't 0
	}
	m.Reduction = nn.Reduction(g.r.IntN(2))
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
	g.inputs["x"], g.inputs["y"], g.inputs["id"], g.inputs["s"] = nn.Floats(w, x...), nn.Floats(1, y...), nn.Ints(ids, id...), nn.Strings(1, s...)
	token := g.Vocabulary("token", g.Input("s", nn.String, 1), []string{"a", "b"})
	in := g.Input("id", nn.Int64, ids)
	g.there = []nn.Ref{g.Input("x", nn.Float32, w), g.Input("y", nn.Float32, 1), g.Embedding("table", in, 12, 1+g.r.IntN(3)),
		g.OneHot("hot", in, 4+g.r.IntN(40)), g.OneHot("token/hot", token, 3), g.Embedding("tokens", token, 3, 2)}
}

func (g *grown) any() nn.Ref { return g.there[g.r.IntN(len(g.there))] }

func (g *grown) next(what string) string {
	g.n++
	return fmt.Sprintf("%s %d", what, g.n)
}

// of returns a value of that width.
func (g *grown) of(width int) nn.Ref {
	for range 8 {
		if x := g.any(); x.Type.Width == width {
			return x
		}
	}
	return g.Dense(g.next("of"), g.any(), width, nn.OpTanh)
}

// operandFor returns a value that can be combined with one of that width.
func (g *grown) operandFor(width int) nn.Ref {
	switch g.r.IntN(4) {
	case 0:
		return g.of(1)
	case 1:
		return g.Constant(g.next("constant"), float32(g.r.NormFloat64()))
	}
	return g.of(width)
}

// above returns a value above 0 made from x.
func (g *grown) above(x nn.Ref) nn.Ref {
	return g.Add(g.next("above"), g.Activation(g.next("softplus"), x, nn.OpSoftplus), g.Constant(g.next("half"), 0.5))
}

func (g *grown) small(x nn.Ref) nn.Ref { return g.Activation(g.next("tanh"), x, nn.OpTanh) }

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func (g *grown) layer(x nn.Ref) nn.Ref {
	w := x.Type.Width
	switch g.r.IntN(15) {
	case 0, 1:
		return g.Dense(g.next("dense"), x, 1+g.r.IntN(8), pick(g.r, "", nn.OpRelu, nn.OpTanh, nn.OpSigmoid, nn.OpSoftplus, nn.OpSoftmax))
	case 2:
		o := nn.DenseOptions{NoBias: g.r.IntN(2) == 0, Kernel: nn.ParamOptions{Penalty: nn.Penalty{L1: 0.01, L2: 0.02}}, Bias: nn.ParamOptions{Penalty: nn.Penalty{L2: 0.1}}}
		return g.DenseWith(g.next("dense"), x, pick(g.r, 1, 3, 40), o)
	case 3:
		return g.Concat(g.next("concat"), x, g.any(), g.any())
	case 4:
		combine := pick(g.r, g.Add, g.Sub, g.Maximum, g.Minimum)
		return combine(g.next("combine"), x, g.operandFor(w))
	case 5:
		return g.small(g.Mul(g.next("mul"), x, g.operandFor(w)))
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
		return g.BatchNormalization(g.next("norm"), x, nn.BatchNorm{Epsilon: 0.1, NoScale: g.r.IntN(4) == 0, NoCenter: g.r.IntN(4) == 0})
	case 11:
		return g.Dropout(g.next("drop"), x, 0.4)
	case 12:
		return g.LeakyRelu(g.next("leaky"), x, 0.2)
	case 13:
		return g.Apply(g.next("apply"), g.small(x), pick(g.r, nn.OpNeg, nn.OpAbs, nn.OpExp, nn.OpExpm1, nn.OpSquare, nn.OpRelu))
	}
	return g.Apply(g.next("apply"), g.above(x), pick(g.r, nn.OpInverse, nn.OpSqrt, nn.OpLog, nn.OpLog1p))
}

// batch returns a batch for the model, with all rows.
func (g *grown) batch(m *nn.Model) nn.Batch {
	b := nn.Batch{Rows: g.rows, Inputs: g.inputs, Targets: make([]float32, g.rows*m.Width())}
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
