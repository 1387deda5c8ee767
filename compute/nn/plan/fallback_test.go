package plan

import (
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// onHost are expressions with an op that no kernel does.
var onHost = map[string]expressionOf{
	"a function that no kernel has": func(w *written) *gorgonia.Node { return must(gorgonia.Sin(w.param(4, 3))) },
	"of something computed": func(w *written) *gorgonia.Node {
		return must(gorgonia.Cos(must(gorgonia.Mul(w.param(4, 3), w.param(3, 5)))))
	},
	"of a number": func(w *written) *gorgonia.Node {
		return must(gorgonia.Sin(must(gorgonia.Sum(w.param(4, 3)))))
	},
	"batched products": func(w *written) *gorgonia.Node {
		return must(gorgonia.BatchedMatMul(w.param(2, 3, 4), w.param(2, 4, 5)))
	},
	"sum over a middle axis": func(w *written) *gorgonia.Node { return must(gorgonia.Sum(w.param(2, 3, 4), 1)) },
	"slices with steps":      func(w *written) *gorgonia.Node { return must(gorgonia.Slice(w.param(6), gorgonia.S(0, 6, 2))) },
	"largest of each column": func(w *written) *gorgonia.Node { return must(gorgonia.Max(w.param(4, 3), 0)) },
	"look-up of columns": func(w *written) *gorgonia.Node {
		return must(gorgonia.ByIndices(w.param(3, 5), w.ids(5, 4), 1))
	},
	"rank three transposed": func(w *written) *gorgonia.Node {
		return must(gorgonia.Transpose(w.param(2, 3, 4), 1, 0, 2))
	},
}

func TestWhatAPlanDoesNotKnowIsStillRight(t *testing.T) {
	t.Parallel()
	for _, name := range sortedKeys(onHost) {
		t.Run(name, func(t *testing.T) {
			w := write(t, 2, func(w *written) *gorgonia.Node { return w.weighted(onHost[name](w)) })
			p := w.check(t)
			found := false
			for _, i := range p.Code {
				found = found || i.Op == OnHost
			}
			if !found {
				t.Error("nothing runs on the host: this is no test of it any more")
			}
			checkMemory(t, p)
		})
	}
}

func TestWhatCannotBeCompiledSaysWhy(t *testing.T) {
	t.Parallel()
	matrix := func(g *gorgonia.ExprGraph, dt tensor.Dtype, name string) *gorgonia.Node {
		return gorgonia.NewMatrix(g, dt, gorgonia.WithName(name), gorgonia.WithShape(2, 2), gorgonia.WithInit(gorgonia.Ones()))
	}
	for says, make := range map[string]func(g *gorgonia.ExprGraph) Expression{
		`param "w": is float64`: func(g *gorgonia.ExprGraph) Expression {
			w := matrix(g, tensor.Float64, "w")
			return Expression{Cost: must(gorgonia.Sum(w)), Params: gorgonia.Nodes{w}, Grads: gorgonia.Nodes{nil}}
		},
		`is float64: a plan has float32`: func(g *gorgonia.ExprGraph) Expression {
			return Expression{Cost: must(gorgonia.Sum(matrix(g, tensor.Float64, "x")))}
		},
		`node "x" is no input and no param, and has no value`: func(g *gorgonia.ExprGraph) Expression {
			return Expression{Cost: must(gorgonia.Sum(gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithName("x"), gorgonia.WithShape(2, 2))))}
		},
		"expected one float32": func(g *gorgonia.ExprGraph) Expression {
			x := matrix(g, tensor.Float32, "x")
			return Expression{Cost: must(gorgonia.Square(x)), Inputs: gorgonia.Nodes{x}}
		},
		`input "x" is computed, has no name, or one that another has`: func(g *gorgonia.ExprGraph) Expression {
			x, y := matrix(g, tensor.Float32, "x"), gorgonia.NewVector(g, tensor.Float32, gorgonia.WithName("x"), gorgonia.WithShape(2))
			return Expression{Cost: must(gorgonia.Sum(x)), Inputs: gorgonia.Nodes{x, y}}
		},
		"1 gradients for 0 params": func(g *gorgonia.ExprGraph) Expression {
			x := must(gorgonia.Sum(matrix(g, tensor.Float32, "x")))
			return Expression{Cost: x, Grads: gorgonia.Nodes{x}}
		},
		`> false" is bool`: func(g *gorgonia.ExprGraph) Expression {
			x := matrix(g, tensor.Float32, "x")
			return Expression{Cost: must(gorgonia.Sum(x)), Inputs: gorgonia.Nodes{x},
				Outputs: map[string]*gorgonia.Node{"mask": must(gorgonia.Gt(x, x, false))}}
		},
	} {
		_, err := Compile(make(gorgonia.NewGraph()))
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, expected an error that says %q", err, says)
		}
	}
}

func TestAnIDOutsideATableIsAnError(t *testing.T) {
	t.Parallel()
	w := write(t, 1, func(w *written) *gorgonia.Node { return w.weighted(known["look-up with ids that repeat"](w)) })
	p, err := Compile(w.e)
	if err != nil {
		t.Fatal(err)
	}
	m := NewMachine(p, nil)
	m.Ints(p.Inputs["ids"])[3] = 5
	if _, err := m.Step(0); err == nil || !strings.Contains(err.Error(), "id 5, at place 3, is outside 0..4") {
		t.Errorf("%v, expected an error that names the id and its place", err)
	}
}
