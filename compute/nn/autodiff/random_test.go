package autodiff

import (
	"math"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// byOps computes p's expression with each op's own Do, on copies, with the last inputs of p: loss
// and gradients. Gorgonia's tape reuses memory that is still needed, after a Reshape or Transpose.
func byOps(t *testing.T, p *Program) (float32, [][]float32) {
	t.Helper()
	expressing.Lock()
	defer expressing.Unlock()
	parts, err := split(p.model.Graph.ForTraining(), p.model.Logits)
	if err != nil {
		t.Fatal(err)
	}
	step := p.steps - 1
	l := newLowering(parts.body, p.batch, &step)
	e, err := p.express(l, parts.body)
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := plan.Compile(e)
	if err != nil {
		t.Fatal(err)
	}
	values := map[*gorgonia.Node]gorgonia.Value{}
	for _, n := range e.Inputs {
		i := compiled.Inputs[n.Name()]
		if n.Dtype() == tensor.Int {
			values[n] = tensor.New(tensor.WithShape(n.Shape()...), tensor.WithBacking(append([]int(nil), p.machine.Ints(i)...)))
		} else {
			values[n] = tensor.New(tensor.WithShape(n.Shape()...), tensor.WithBacking(append([]float32(nil), p.machine.Floats(i)...)))
		}
	}
	nodes, err := gorgonia.Sort(l.expr)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(nodes) - 1; i >= 0; i-- {
		n := nodes[i]
		if values[n] == nil {
			values[n] = valueByOp(t, n, values, l.expr)
		}
	}
	grads := make([][]float32, len(e.Grads))
	for i, g := range e.Grads {
		switch {
		case g == nil:
			grads[i] = make([]float32, e.Params[i].Shape().TotalSize())
		default:
			grads[i] = floatsOf(values[g])
		}
	}
	return floatsOf(values[e.Cost])[0], grads
}

func floatsOf(v gorgonia.Value) []float32 {
	if x, ok := v.Data().([]float32); ok {
		return x
	}
	return []float32{v.Data().(float32)}
}

func valueByOp(t *testing.T, n *gorgonia.Node, values map[*gorgonia.Node]gorgonia.Value, g *gorgonia.ExprGraph) gorgonia.Value {
	t.Helper()
	if n.Op() == nil || n.Op().Arity() == 0 {
		return n.Value()
	}
	var in []gorgonia.Value
	for it := g.From(n.ID()); it.Next(); {
		clone, err := gorgonia.CloneValue(values[it.Node().(*gorgonia.Node)])
		if err != nil {
			t.Fatal(err)
		}
		in = append(in, clone)
	}
	v, err := n.Op().Do(in...)
	if err != nil {
		t.Fatalf("%v: %v", n.Op(), err)
	}
	return v
}

func TestRandomModelsHaveTheGradientsOfTheirOps(t *testing.T) {
	t.Parallel()
	n := uint64(60)
	if testing.Short() {
		n = 15
	}
	for seed := range n {
		m, g, err := grow(seed)
		if err != nil {
			t.Fatalf("model %d: %v", seed, err)
		}
		p, err := NewProgramWith(m, g.rows+g.r.IntN(3), Options{Threads: 1 + g.r.IntN(3)})
		if err != nil {
			t.Fatalf("model %d: %v", seed, err)
		}
		b := g.batch(m)
		for range 2 {
			loss, grads, err := p.Gradients(b)
			if err != nil {
				t.Fatalf("model %d: %v", seed, err)
			}
			wantLoss, want := byOps(t, p)
			if !nearOps(loss, wantLoss, 0) {
				t.Errorf("model %d: loss %v, by its ops %v", seed, loss, wantLoss)
			}
			at := 0
			for i, w := range want {
				compareOps(t, seed, i, grads[at:at+len(w)], w)
				at += len(w)
			}
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

func compareOps(t *testing.T, seed uint64, param int, got, want []float32) {
	t.Helper()
	scale := 0.01
	for _, w := range want {
		scale = max(scale, math.Abs(float64(w)))
	}
	for j, w := range want {
		if !nearOps(got[j], w, scale) {
			t.Errorf("model %d: gradient %d of param %d of %d: %v, by its ops %v", seed, j, param, len(want), got[j], w)
			return
		}
	}
}

func nearOps(a, b float32, scale float64) bool {
	return math.Abs(float64(a)-float64(b)) <= 1e-4*max(scale, math.Abs(float64(b))) || a != a && b != b
}
