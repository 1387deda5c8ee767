package plan

import (
	"fmt"
	"math"
	"math/rand"
	"sync"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// written is an expression under test, with the values that TapeMachine also needs.
type written struct {
	g *gorgonia.ExprGraph
	e Expression
	r *rand.Rand
}

// writing is held while an expression is written: Gorgonia's Rectify counts groups in a variable of
// its package (NewGroup, v0.9.18).
var writing sync.Mutex

func write(t testing.TB, seed int64, cost func(w *written) *gorgonia.Node) *written {
	t.Helper()
	writing.Lock()
	defer writing.Unlock()
	w := &written{g: gorgonia.NewGraph(), r: rand.New(rand.NewSource(seed))}
	w.e.Outputs = map[string]*gorgonia.Node{}
	w.e.Cost = cost(w)
	grads, err := gorgonia.Grad(w.e.Cost, w.e.Params...)
	if err != nil {
		t.Fatalf("gorgonia's gradients: %v", err)
	}
	w.e.Grads = grads
	return w
}

// must returns a node without its error: an expression that can't be written is a mistake of the
// test.
func must(n *gorgonia.Node, err error) *gorgonia.Node {
	if err != nil {
		panic(err)
	}
	return n
}

// numbers returns numbers from -2 to 2, none nearer to 0 than 0.01, because some slopes don't exist
// at 0.
func (w *written) numbers(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(w.r.Float64()*1.99 + 0.01)
		if w.r.Intn(2) == 0 {
			x[i] = -x[i]
		}
	}
	return x
}

func positive(x []float32) []float32 {
	for i := range x {
		x[i] = float32(math.Abs(float64(x[i]))) + 0.1
	}
	return x
}

func (w *written) node(values []float32, shape ...int) *gorgonia.Node {
	value := tensor.New(tensor.WithShape(shape...), tensor.WithBacking(values))
	name := fmt.Sprintf("leaf %d", len(w.e.Params)+len(w.e.Inputs))
	return gorgonia.NewTensor(w.g, tensor.Float32, len(shape), gorgonia.WithName(name), gorgonia.WithShape(shape...), gorgonia.WithValue(value))
}

func size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

func (w *written) param(shape ...int) *gorgonia.Node {
	return w.paramOf(w.numbers(size(shape)), shape...)
}

func (w *written) paramOf(values []float32, shape ...int) *gorgonia.Node {
	n := w.node(values, shape...)
	w.e.Params = append(w.e.Params, n)
	return n
}

func (w *written) input(shape ...int) *gorgonia.Node {
	n := w.node(w.numbers(size(shape)), shape...)
	w.e.Inputs = append(w.e.Inputs, n)
	return n
}

func (w *written) ids(below int, n int) *gorgonia.Node {
	ids := make([]int, n)
	for i := range ids {
		ids[i] = w.r.Intn(below)
	}
	node := gorgonia.NewVector(w.g, tensor.Int, gorgonia.WithName("ids"), gorgonia.WithShape(n),
		gorgonia.WithValue(tensor.New(tensor.WithShape(n), tensor.WithBacking(ids))))
	w.e.Inputs = append(w.e.Inputs, node)
	return node
}

// weighted returns a number to which every element of x contributes differently.
func (w *written) weighted(x *gorgonia.Node) *gorgonia.Node {
	if x.IsScalar() {
		return x
	}
	return must(gorgonia.Sum(must(gorgonia.HadamardProd(x, w.input(x.Shape()...)))))
}

// result is what a step gives.
type result struct {
	loss  float32
	grads [][]float32
}

// byTape computes the result with the oracle.
func (w *written) byTape(t testing.TB) result {
	t.Helper()
	var loss gorgonia.Value
	values := make([]gorgonia.Value, len(w.e.Grads))
	gorgonia.Read(w.e.Cost, &loss)
	for i, g := range w.e.Grads {
		gorgonia.Read(g, &values[i])
	}
	tape := gorgonia.NewTapeMachine(w.g)
	defer tape.Close()
	if err := tape.RunAll(); err != nil {
		t.Fatalf("tape: %v", err)
	}
	r := result{loss: loss.Data().(float32)}
	for _, v := range values {
		r.grads = append(r.grads, floats(v))
	}
	return r
}

// byOps calls each op's own Do, on copies: for expressions where the tape, which reuses memory, is
// itself wrong. Observed in gorgonia v0.9.18 with a Reshape or Transpose of a value that something
// else also needs.
func (w *written) byOps(t testing.TB) result {
	t.Helper()
	nodes, err := gorgonia.Sort(w.g)
	if err != nil {
		t.Fatal(err)
	}
	values := map[*gorgonia.Node]gorgonia.Value{}
	for i := len(nodes) - 1; i >= 0; i-- {
		n := nodes[i]
		if n.Op() == nil || isConstant(n.Op()) {
			values[n] = n.Value()
			continue
		}
		var in []gorgonia.Value
		for it := w.g.From(n.ID()); it.Next(); {
			clone, err := gorgonia.CloneValue(values[it.Node().(*gorgonia.Node)])
			if err != nil {
				t.Fatal(err)
			}
			in = append(in, clone)
		}
		if values[n], err = n.Op().Do(in...); err != nil {
			t.Fatal(err)
		}
	}
	r := result{loss: values[w.e.Cost].Data().(float32)}
	for _, g := range w.e.Grads {
		r.grads = append(r.grads, floats(values[g]))
	}
	return r
}

func floats(v gorgonia.Value) []float32 {
	if data, ok := v.Data().([]float32); ok {
		return append([]float32(nil), data...)
	}
	return []float32{v.Data().(float32)}
}

// byPlan runs the plan twice, because a step must not depend on what the one before it left.
func (w *written) byPlan(t testing.TB) (result, *Plan) {
	t.Helper()
	p, err := Compile(w.e)
	if err != nil {
		t.Fatal(err)
	}
	m := NewMachine(p, nil)
	for _, n := range w.e.Inputs {
		switch data := n.Value().Data().(type) {
		case []float32:
			copy(m.Floats(p.Inputs[n.Name()]), data)
		case []int:
			copy(m.Ints(p.Inputs[n.Name()]), data)
		}
	}
	var r result
	for step := range uint64(2) {
		if r.loss, err = m.Step(step); err != nil {
			t.Fatal(err)
		}
	}
	for _, at := range p.Params {
		r.grads = append(r.grads, m.Grads()[at.From:at.To])
	}
	return r, p
}

// tolerance is for sums of some hundred products taken in another order, and for functions that
// Gorgonia computes in float32.
const tolerance = 2e-5

// check compares with the tape.
func (w *written) check(t testing.TB) *Plan {
	t.Helper()
	got, p := w.byPlan(t)
	got.compare(t, w.byTape(t))
	return p
}

func (got result) compare(t testing.TB, want result) {
	t.Helper()
	if !near(got.loss, want.loss, 1) {
		t.Errorf("loss %v, Gorgonia %v", got.loss, want.loss)
	}
	for i, g := range want.grads {
		if len(g) != len(got.grads[i]) {
			t.Fatalf("gradient %d has %d elements, Gorgonia %d", i, len(got.grads[i]), len(g))
		}
		scale := largestOf(g)
		for j := range g {
			if !near(got.grads[i][j], g[j], scale) {
				t.Errorf("gradient %d, element %d: %v, Gorgonia %v", i, j, got.grads[i][j], g[j])
				break
			}
		}
	}
}

func near(a, b float32, scale float64) bool {
	if a != a || b != b {
		return a != a && b != b
	}
	return math.Abs(float64(a)-float64(b)) <= tolerance*max(1, scale, math.Abs(float64(b)))
}

func largestOf(x []float32) float64 {
	m := 0.0
	for _, v := range x {
		m = max(m, math.Abs(float64(v)))
	}
	return m
}
