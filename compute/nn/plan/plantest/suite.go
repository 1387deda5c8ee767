package plantest

import (
	"fmt"
	"math"
	"testing"

	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// Suite runs all cases on machines of one kind. A machine is closed at the end of its case.
func Suite(t *testing.T, machine func(*plan.Plan) (plan.Machine, error)) {
	for _, c := range operations() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			check(t, machine, c)
		})
	}
	t.Run("training", func(t *testing.T) { t.Parallel(); training(t, machine) })
}

// operation is one instruction, or a few, and the expected result.
type operation struct {
	name  string
	write func(b *builder) // the plan, whose output is b.out
	want  func(b *builder) matrix
}

// matrix has numbers by rows.
type matrix struct {
	rows, cols int
	v          []float64
}

func newMatrix(rows, cols int, at func(r, c int) float64) matrix {
	m := matrix{rows, cols, make([]float64, rows*cols)}
	for i := range m.v {
		m.v[i] = at(i/cols, i%cols)
	}
	return m
}

func (m matrix) at(r, c int) float64 { return m.v[r*m.cols+c] }

// check runs an operation twice, with the same result to the last bit, and compares. The tolerance
// is a few units in the last place of float32 of the largest number in a sum, times the square root
// of the number of terms: kernels may sum in any order.
func check(t *testing.T, machine func(*plan.Plan) (plan.Machine, error), c operation) {
	t.Helper()
	b := newBuilder()
	c.write(b)
	m := open(t, machine, b.finish())
	b.feed(m)
	loss := step(t, m)
	got := append([]float32(nil), m.Floats(b.out)...)
	want := c.want(b)
	if len(got) != len(want.v) {
		t.Fatalf("%d numbers, expected %d", len(got), len(want.v))
	}
	for i, g := range got {
		if !near(float64(g), want.v[i], b.magnitude) {
			t.Fatalf("element %d of [%d,%d] is %g, expected %g", i, want.rows, want.cols, g, want.v[i])
		}
	}
	b.feed(m)
	if again := step(t, m); math.Float32bits(again) != math.Float32bits(loss) {
		t.Errorf("the same step gave %g, then %g", loss, again)
	}
	for i, g := range m.Floats(b.out) {
		if math.Float32bits(g) != math.Float32bits(got[i]) {
			t.Fatalf("element %d is %g at first and %g again", i, got[i], g)
		}
	}
}

func near(got, want, magnitude float64) bool {
	if math.IsNaN(want) || math.IsInf(want, 0) {
		return got == want || math.IsNaN(got) && math.IsNaN(want)
	}
	return math.Abs(got-want) <= 2e-6*max(1, magnitude, math.Abs(want))
}

func open(t *testing.T, machine func(*plan.Plan) (plan.Machine, error), p *plan.Plan) plan.Machine {
	t.Helper()
	m, err := machine(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func step(t *testing.T, m plan.Machine) float32 {
	t.Helper()
	loss, err := m.Step(3)
	if err != nil {
		t.Fatal(err)
	}
	return loss
}

// named returns a name of a case with its shape.
func named(what string, values ...any) string {
	for _, v := range values {
		what += fmt.Sprintf(",%v", v)
	}
	return what
}
