package plan

import (
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

type unary = func(*gorgonia.Node) (*gorgonia.Node, error)

type expressionOf = func(w *written) *gorgonia.Node

// known are expressions that a plan knows, each with all shapes in which it is known.
var known = map[string]expressionOf{
	"matrix times matrix":         func(w *written) *gorgonia.Node { return must(gorgonia.Mul(w.param(4, 3), w.param(3, 5))) },
	"matrix times column":         func(w *written) *gorgonia.Node { return must(gorgonia.Mul(w.param(4, 3), w.param(3, 1))) },
	"row times matrix":            func(w *written) *gorgonia.Node { return must(gorgonia.Mul(w.param(1, 3), w.param(3, 5))) },
	"matrix times vector":         func(w *written) *gorgonia.Node { return must(gorgonia.Mul(w.param(4, 3), w.param(3))) },
	"vector times vector, inside": func(w *written) *gorgonia.Node { return must(gorgonia.Mul(w.param(4), w.param(4))) },
	"vector times vector, outside": func(w *written) *gorgonia.Node {
		return must(gorgonia.OuterProd(w.param(4), w.param(4)))
	},
	"product of a transpose": func(w *written) *gorgonia.Node {
		return must(gorgonia.Mul(must(gorgonia.Transpose(w.param(3, 4), 1, 0)), must(gorgonia.Transpose(w.param(5, 3), 1, 0))))
	},
	"transpose": func(w *written) *gorgonia.Node { return must(gorgonia.Transpose(w.param(3, 4), 1, 0)) },
	"dense with relu": func(w *written) *gorgonia.Node {
		h := must(gorgonia.Rectify(dense(w, w.input(6, 4), 4, 5)))
		return dense(w, h, 5, 2)
	},
	"dense with tanh": func(w *written) *gorgonia.Node {
		return dense(w, must(gorgonia.Tanh(dense(w, w.input(6, 4), 4, 5))), 5, 2)
	},
	"dense with sigmoid": func(w *written) *gorgonia.Node {
		return dense(w, must(gorgonia.Sigmoid(dense(w, w.input(6, 4), 4, 5))), 5, 2)
	},
	"dense with leaky relu": func(w *written) *gorgonia.Node {
		return dense(w, must(gorgonia.LeakyRelu(dense(w, w.input(6, 4), 4, 5), 0.2)), 5, 2)
	},
	"one matrix in two products": func(w *written) *gorgonia.Node {
		h := must(gorgonia.Tanh(dense(w, w.input(6, 4), 4, 4)))
		k := w.param(4, 4)
		return must(gorgonia.Add(must(gorgonia.Mul(h, k)), must(gorgonia.Mul(must(gorgonia.Tanh(must(gorgonia.Mul(h, k)))), k))))
	},
	"two gradients that add up": func(w *written) *gorgonia.Node {
		x := w.param(4, 3)
		return must(gorgonia.Add(must(gorgonia.Mul(x, w.param(3, 5))), must(gorgonia.Mul(x, w.param(3, 5)))))
	},
	"a product added to what is needed later": func(w *written) *gorgonia.Node {
		y := must(gorgonia.Tanh(w.param(4, 5)))
		sum := must(gorgonia.Add(y, must(gorgonia.Mul(w.param(4, 3), w.param(3, 5)))))
		return must(gorgonia.HadamardProd(sum, y))
	},
	"row with a matrix": func(w *written) *gorgonia.Node {
		return must(gorgonia.BroadcastHadamardProd(w.param(4, 3), w.param(1, 3), nil, []byte{0}))
	},
	"column with a matrix": func(w *written) *gorgonia.Node {
		return must(gorgonia.BroadcastSub(w.param(4, 3), w.param(4, 1), nil, []byte{1}))
	},
	"row over a matrix": func(w *written) *gorgonia.Node {
		return must(gorgonia.BroadcastHadamardDiv(w.param(1, 3), w.paramOf(positive(w.numbers(12)), 4, 3), []byte{0}, nil))
	},
	"number with a matrix": func(w *written) *gorgonia.Node {
		return must(gorgonia.Sub(gorgonia.NewConstant(float32(3)), w.param(4, 3)))
	},
	"x times x": func(w *written) *gorgonia.Node { x := w.param(4, 3); return must(gorgonia.HadamardProd(x, x)) },
	"power": func(w *written) *gorgonia.Node {
		return must(gorgonia.Pow(w.paramOf(positive(w.numbers(12)), 4, 3), gorgonia.NewConstant(float32(1.5))))
	},
	"sum over all":      func(w *written) *gorgonia.Node { return must(gorgonia.Sum(w.param(4, 3))) },
	"sum over rows":     func(w *written) *gorgonia.Node { return must(gorgonia.Sum(w.param(4, 3), 0)) },
	"sum along a row":   func(w *written) *gorgonia.Node { return must(gorgonia.Sum(w.param(4, 3), 1)) },
	"sum of a vector":   func(w *written) *gorgonia.Node { return must(gorgonia.Sum(w.param(4))) },
	"sum of rank three": func(w *written) *gorgonia.Node { return must(gorgonia.Sum(w.param(2, 3, 4))) },
	"mean over all":     func(w *written) *gorgonia.Node { return must(gorgonia.Mean(w.param(4, 3))) },
	"mean over rows":    func(w *written) *gorgonia.Node { return must(gorgonia.Mean(w.param(4, 3), 0)) },
	"mean along a row":  func(w *written) *gorgonia.Node { return must(gorgonia.Mean(w.param(4, 3), 1)) },
	"reshape":           func(w *written) *gorgonia.Node { return must(gorgonia.Reshape(w.param(4, 3), tensor.Shape{2, 6})) },
	"reshape inside": func(w *written) *gorgonia.Node {
		h := must(gorgonia.Reshape(must(gorgonia.Tanh(w.param(4, 3))), tensor.Shape{2, 6}))
		return must(gorgonia.Mul(h, w.param(6, 2)))
	},
	"softmax":     func(w *written) *gorgonia.Node { return must(gorgonia.SoftMax(w.param(4, 3))) },
	"log softmax": func(w *written) *gorgonia.Node { return must(gorgonia.LogSoftMax(w.param(4, 3))) },
	"columns of a matrix": func(w *written) *gorgonia.Node {
		return must(gorgonia.Slice(w.param(4, 5), nil, gorgonia.S(1, 3)))
	},
	"rows of a matrix": func(w *written) *gorgonia.Node { return must(gorgonia.Slice(w.param(4, 5), gorgonia.S(1, 3))) },
	"part of a vector": func(w *written) *gorgonia.Node { return must(gorgonia.Slice(w.param(6), gorgonia.S(1, 3))) },
	"one column":       func(w *written) *gorgonia.Node { return must(gorgonia.Slice(w.param(4, 5), nil, gorgonia.S(2))) },
	"side by side": func(w *written) *gorgonia.Node {
		return must(gorgonia.Concat(1, w.param(4, 2), w.param(4, 3), w.param(4, 1)))
	},
	"one below the other": func(w *written) *gorgonia.Node { return must(gorgonia.Concat(0, w.param(2, 3), w.param(4, 3))) },
	"look-up with ids that repeat": func(w *written) *gorgonia.Node {
		return must(gorgonia.ByIndices(w.param(5, 3), w.ids(5, 9), 0))
	},
	"one table in two look-ups": func(w *written) *gorgonia.Node {
		table, ids := w.param(5, 3), w.ids(5, 4)
		a := must(gorgonia.ByIndices(table, ids, 0))
		b := must(gorgonia.Tanh(must(gorgonia.ByIndices(must(gorgonia.Square(table)), ids, 0))))
		return must(gorgonia.HadamardProd(a, b))
	},
	"largest along a row": func(w *written) *gorgonia.Node { return must(gorgonia.Max(w.param(4, 3), 1)) },
	"batch statistics": func(w *written) *gorgonia.Node {
		x := dense(w, w.input(6, 4), 4, 3)
		mean := must(gorgonia.Reshape(must(gorgonia.Mean(x, 0)), tensor.Shape{1, 3}))
		centred := must(gorgonia.BroadcastSub(x, mean, nil, []byte{0}))
		variance := must(gorgonia.Reshape(must(gorgonia.Mean(must(gorgonia.Square(centred)), 0)), tensor.Shape{1, 3}))
		deviation := must(gorgonia.Sqrt(must(gorgonia.Add(variance, gorgonia.NewConstant(float32(1e-3))))))
		return must(gorgonia.BroadcastHadamardDiv(centred, deviation, nil, []byte{0}))
	},
}

func dense(w *written, x *gorgonia.Node, in, out int) *gorgonia.Node {
	y := must(gorgonia.Mul(x, w.param(in, out)))
	return must(gorgonia.BroadcastAdd(y, w.param(1, out), nil, []byte{0}))
}

var functions = map[string]unary{
	"neg": gorgonia.Neg, "square": gorgonia.Square, "cube": gorgonia.Cube, "tanh": gorgonia.Tanh, "sigmoid": gorgonia.Sigmoid, "exp": gorgonia.Exp,
	"softplus": gorgonia.Softplus, "abs": gorgonia.Abs, "expm1": gorgonia.Expm1, "relu": gorgonia.Rectify,
}

var functionsOfPositive = map[string]unary{
	"log": gorgonia.Log, "log1p": gorgonia.Log1p, "sqrt": gorgonia.Sqrt, "inverse": gorgonia.Inverse,
}

func init() {
	for name, f := range functions {
		known[name+" of a matrix"] = func(w *written) *gorgonia.Node { return must(f(w.param(4, 3))) }
		known[name+" of a vector"] = func(w *written) *gorgonia.Node { return must(f(w.param(5))) }
		known[name+" of rank three"] = func(w *written) *gorgonia.Node { return must(f(w.param(2, 3, 2))) }
	}
	for name, f := range functionsOfPositive {
		known[name] = func(w *written) *gorgonia.Node { return must(f(w.paramOf(positive(w.numbers(12)), 4, 3))) }
	}
}

func TestAPlanComputesWhatTheTapeDoes(t *testing.T) {
	for _, name := range sortedKeys(known) {
		t.Run(name, func(t *testing.T) {
			w := write(t, 1, func(w *written) *gorgonia.Node { return w.weighted(known[name](w)) })
			p := w.check(t)
			for _, i := range p.Code {
				if i.Op == OnHost {
					t.Errorf("%s runs on the host", i.Node)
				}
			}
		})
	}
}
