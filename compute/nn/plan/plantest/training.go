package plantest

import (
	"math"
	"testing"

	"github.com/stoker-ml/stoker/compute/kernel"
	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// training runs the tests of whole models.
func training(t *testing.T, machine func(*plan.Plan) (plan.Machine, error)) {
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) { t.Parallel(); followsRule(t, machine, r.rule) })
	}
	for _, c := range []plan.Clip{{Value: 0.05}, {Norm: 0.1}, {Global: 0.1}, {Norm: 1e6}, {}} {
		t.Run(named("clip", c), func(t *testing.T) { t.Parallel(); clips(t, machine, c) })
	}
	t.Run("weights changed here count after Push", func(t *testing.T) { t.Parallel(); pushes(t, machine) })
	t.Run("an update of a part, and then of all", func(t *testing.T) { t.Parallel(); updatesParts(t, machine) })
	t.Run("gradients that are not finite stay so", func(t *testing.T) { t.Parallel(); staysNaN(t, machine) })
}

// linear is z = x W + b, loss = mean z^2, with 4 x 3 weights and 3 biases next to each other, then
// two that the loss doesn't need.
type linear struct {
	weights []float32
	plan    *plan.Plan
	feed    func(plan.Machine)
}

const (
	trained = 15
	rows    = 6
)

func newLinear() linear {
	b := newBuilder()
	l := linear{weights: make([]float32, trained+2)}
	for i := range l.weights {
		l.weights[i] = float32(b.random.NormFloat64())
	}
	param := func(name string, from, to, rows int) int {
		return b.add(plan.Buffer{Name: name, Home: plan.Bound, Rows: rows, Cols: 3, Data: l.weights[from:to], Param: true})
	}
	x, w, bias := b.input(rows, 4), param("w", 0, 12, 4), param("b", 12, 15, 1)
	z := b.do(plan.Instr{Op: plan.Gemm, In: []int{x, w, bias}}, rows, 3)
	square := b.do(plan.Instr{Op: plan.Map, In: []int{z}, Attr: plan.Attr{Func: kernel.Square}}, rows, 3)
	dz := b.do(plan.Instr{Op: plan.Combine, In: []int{z, z}, Attr: plan.Attr{Binary: kernel.Add, Scale: 1.0 / (3 * rows)}}, rows, 3)
	b.plan.Grads = trained + 2
	b.plan.Params = []plan.Range{{From: 0, To: 12}, {From: 12, To: 15}, {From: 15, To: 17}}
	dw := b.add(plan.Buffer{Name: "dw", Home: plan.Grads, Rows: 4, Cols: 3})
	db := b.add(plan.Buffer{Name: "db", Home: plan.Grads, At: 12, Rows: 1, Cols: 3})
	rest := b.add(plan.Buffer{Name: "rest", Home: plan.Grads, At: 15, Rows: 1, Cols: 2})
	b.into(plan.Instr{Op: plan.Gemm, Out: dw, In: []int{x, dz}, Attr: plan.Attr{Product: kernel.Product{TransA: true}}})
	b.into(plan.Instr{Op: plan.Reduce, Out: db, In: []int{dz}, Attr: plan.Attr{Axis: plan.Rows}})
	b.into(plan.Instr{Op: plan.Fill, Out: rest})
	b.plan.Loss = b.do(plan.Instr{Op: plan.Reduce, In: []int{square}, Attr: plan.Attr{Axis: plan.All, Scale: 1.0 / (3 * rows)}}, 1, 1)
	l.plan, l.feed = &b.plan, b.feed
	return l
}

type namedRule struct {
	name string
	rule kernel.Rule
}

func rules() []namedRule {
	adam := kernel.Rule{Formula: kernel.Adam, Numbers: kernel.Numbers{0.1, 1 - 0.9, 1 - 0.999, 1e-7}}
	decayed := adam
	decayed.Decay = 0.01
	adamax := kernel.NewFormula("adamax", "m u", "rate newer1 beta2 epsilon",
		"m = m + (g-m)*newer1", "u = max(beta2*u, abs(g))", "w = w - rate*m/(u+epsilon)")
	return []namedRule{
		{"sgd", kernel.Rule{Formula: kernel.SGD, Numbers: kernel.Numbers{0.1}}},
		{"momentum", kernel.Rule{Formula: kernel.Momentum, Numbers: kernel.Numbers{0.1, 0.9}}},
		{"nesterov", kernel.Rule{Formula: kernel.Nesterov, Numbers: kernel.Numbers{0.1, 0.9}}},
		{"adam", adam},
		{"adamw", decayed},
		{"adagrad", kernel.Rule{Formula: kernel.Adagrad, Numbers: kernel.Numbers{0.1, 1e-7}}},
		{"rmsprop", kernel.Rule{Formula: kernel.RMSprop, Numbers: kernel.Numbers{0.01, 0.9, 1 - 0.9, 1e-7}}},
		{"rmsprop centered with momentum", kernel.Rule{Formula: kernel.RMSpropCenteredMomentum, Numbers: kernel.Numbers{0.01, 0.9, 1 - 0.9, 1e-4, 0.5}}},
		{"ftrl", kernel.Rule{Formula: kernel.FTRL, Numbers: kernel.Numbers{0.1, 0.01, 2 * 0.02}}},
		{"a formula without assembly", kernel.Rule{Formula: adamax, Numbers: kernel.Numbers{0.05, 0.1, 0.99, 1e-7}, Decay: 0.01}},
	}
}

// slotsOf starts every slot at 0.1, as FTRL and Adagrad do.
func slotsOf(r kernel.Rule, n int) [][]float32 {
	slots := make([][]float32, r.Formula.Slots())
	for i := range slots {
		slots[i] = make([]float32, n)
		for k := range slots[i] {
			slots[i][k] = 0.1
		}
	}
	return slots
}

// followsRule repeats each step with kernel.Update, from the machine's own gradients.
func followsRule(t *testing.T, machine func(*plan.Plan) (plan.Machine, error), r kernel.Rule) {
	l := newLinear()
	m := open(t, machine, l.plan)
	slots, wantSlots := slotsOf(r, len(l.weights)), slotsOf(r, len(l.weights))
	want := append([]float32(nil), l.weights...)
	first, last := float32(0), float32(0)
	for i := range 20 {
		l.feed(m)
		last = step(t, m)
		if i == 0 {
			first = last
		}
		(*kernel.ThreadPool)(nil).Update(r, want, append([]float32(nil), m.Grads()...), wantSlots)
		all := plan.Update{Rule: r, Grads: plan.Range{To: len(l.weights)}, Weights: l.weights, Slots: slots}
		if err := m.Update([]plan.Update{all}); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Sync(); err != nil {
		t.Fatal(err)
	}
	if !(last < first) {
		t.Errorf("the loss was %g and became %g", first, last)
	}
	same(t, "weight", l.weights, want)
	for i := range slots {
		same(t, "slot", slots[i], wantSlots[i])
	}
}

// same allows for the roundings of 20 steps.
func same(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i, g := range got {
		if math.Abs(float64(g-want[i])) > 1e-5*max(1, math.Abs(float64(want[i]))) {
			t.Fatalf("%s %d is %g, expected %g", what, i, g, want[i])
		}
	}
}

func clips(t *testing.T, machine func(*plan.Plan) (plan.Machine, error), c plan.Clip) {
	l := newLinear()
	m := open(t, machine, l.plan)
	l.feed(m)
	step(t, m)
	want := append([]float32(nil), m.Grads()...)
	if err := m.Clip(c); err != nil {
		t.Fatal(err)
	}
	switch {
	case c.Value > 0:
		for i, g := range want {
			want[i] = min(max(g, -c.Value), c.Value)
		}
	case c.Norm > 0:
		for _, r := range l.plan.Params {
			shorten(want[r.From:r.To], c.Norm)
		}
	case c.Global > 0:
		shorten(want, c.Global)
	}
	same(t, "gradient", m.Grads(), want)
}

func shorten(g []float32, bound float32) {
	sum := 0.0
	for _, v := range g {
		sum += float64(v) * float64(v)
	}
	if norm := math.Sqrt(sum); norm > float64(bound) {
		for i := range g {
			g[i] *= float32(float64(bound) / norm)
		}
	}
}

func pushes(t *testing.T, machine func(*plan.Plan) (plan.Machine, error)) {
	l := newLinear()
	m := open(t, machine, l.plan)
	l.feed(m)
	if loss := step(t, m); loss == 0 {
		t.Fatal("the loss is 0 from the start")
	}
	clear(l.weights)
	if err := m.Push(); err != nil {
		t.Fatal(err)
	}
	l.feed(m)
	if loss := step(t, m); loss != 0 {
		t.Errorf("the loss is %g once all weights are 0", loss)
	}
}

// updatesParts updates only the biases, then the two weights after them together with them, then
// all.
func updatesParts(t *testing.T, machine func(*plan.Plan) (plan.Machine, error)) {
	l := newLinear()
	m := open(t, machine, l.plan)
	want := append([]float32(nil), l.weights...)
	r := kernel.Rule{Formula: kernel.Momentum, Numbers: kernel.Numbers{0.1, 0.5}}
	slots, wantSlots := slotsOf(r, len(l.weights))[0], slotsOf(r, len(l.weights))[0]
	for _, part := range []plan.Range{{From: 12, To: 15}, {From: 12, To: 17}, {From: 0, To: 17}, {From: 12, To: 15}} {
		l.feed(m)
		step(t, m)
		cut := func(s []float32) []float32 { return s[part.From:part.To] }
		(*kernel.ThreadPool)(nil).Update(r, cut(want), append([]float32(nil), cut(m.Grads())...), [][]float32{cut(wantSlots)})
		if err := m.Update([]plan.Update{{Rule: r, Grads: part, Weights: cut(l.weights), Slots: [][]float32{cut(slots)}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Sync(); err != nil {
		t.Fatal(err)
	}
	same(t, "weight", l.weights, want)
	same(t, "slot", slots, wantSlots)
}

// staysNaN has a weight that is NaN: no clipping may hide it. With a norm it spreads to all
// gradients.
func staysNaN(t *testing.T, machine func(*plan.Plan) (plan.Machine, error)) {
	for _, c := range []plan.Clip{{Value: 1}, {Norm: 1}, {Global: 1}} {
		l := newLinear()
		l.weights[0] = float32(math.NaN())
		m := open(t, machine, l.plan)
		l.feed(m)
		if loss := step(t, m); !math.IsNaN(float64(loss)) {
			t.Errorf("the loss is %g", loss)
		}
		if err := m.Clip(c); err != nil {
			t.Fatal(err)
		}
		for i, g := range m.Grads() {
			if isNaN := math.IsNaN(float64(g)); !isNaN && (i == 0 || c.Global > 0) {
				t.Errorf("clipped by %+v, gradient %d is %g", c, i, g)
			}
		}
	}
}
