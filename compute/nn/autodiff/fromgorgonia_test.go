package autodiff_test

import (
	"math"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/autodiff"
)

// sheet is a Gorgonia expression that is being written: three rows of x [3,2], v [3] and ids [3*2].
type sheet struct {
	t   *testing.T
	g   *gorgonia.ExprGraph
	x   *gorgonia.Node // [3,2]
	pos *gorgonia.Node // [3,2], above 0
	v   *gorgonia.Node // [3]
	ids *gorgonia.Node // [3*2]
}

var rowsOfX = []float32{0.5, -1.25, 1.5, 0.75, -0.3, 0}

func newSheet(t *testing.T) *sheet {
	g := gorgonia.NewGraph()
	floats := func(name string, values []float32, shape ...int) *gorgonia.Node {
		v := tensor.New(tensor.WithShape(shape...), tensor.WithBacking(values))
		return gorgonia.NewTensor(g, tensor.Float32, len(shape), gorgonia.WithName(name), gorgonia.WithShape(shape...), gorgonia.WithValue(v))
	}
	ids := tensor.New(tensor.WithShape(6), tensor.WithBacking([]int{0, 3, 3, 3, 1, 0}))
	return &sheet{
		t: t, g: g, x: floats("x", rowsOfX, 3, 2), pos: floats("pos", []float32{1, 2, 3, 0.5, 0.25, 4}, 3, 2),
		v:   floats("v", []float32{1, 2, -3}, 3),
		ids: gorgonia.NewVector(g, tensor.Int, gorgonia.WithName("ids"), gorgonia.WithShape(6), gorgonia.WithValue(ids)),
	}
}

func (s *sheet) values() map[string]nn.Value {
	return map[string]nn.Value{
		"x": nn.Floats(2, rowsOfX...), "pos": nn.Floats(2, 1, 2, 3, 0.5, 0.25, 4), "v": nn.Floats(1, 1, 2, -3),
		"ids": nn.Ints(2, 0, 3, 3, 3, 1, 0),
	}
}

func (s *sheet) inputs() gorgonia.Nodes { return gorgonia.Nodes{s.x, s.pos, s.v, s.ids} }

// param returns numbers that are not an input.
func (s *sheet) param(name string, values []float32, shape ...int) *gorgonia.Node {
	v := tensor.New(tensor.WithShape(shape...), tensor.WithBacking(values))
	return gorgonia.NewTensor(s.g, tensor.Float32, len(shape), gorgonia.WithName(name), gorgonia.WithShape(shape...), gorgonia.WithValue(v))
}

type node = *gorgonia.Node

// expressions are what users write; each has three rows.
var expressions = map[string]func(s *sheet) node{
	"perceptron": func(s *sheet) node {
		w := s.param("w", []float32{1, -2, 0.5, 3, 0.25, -1}, 2, 3)
		h := must(gorgonia.Tanh(must(gorgonia.BroadcastAdd(must(gorgonia.Mul(s.x, w)), s.param("b", []float32{.1, .2, .3}, 1, 3), nil, []byte{0}))))
		return must(gorgonia.SoftMax(h, 1))
	},
	"bias as a vector": func(s *sheet) node {
		return must(gorgonia.BroadcastSub(s.x, s.param("b", []float32{.1, .2}, 2), nil, []byte{0}))
	},
	"matrix transposed": func(s *sheet) node {
		return must(gorgonia.Mul(s.x, must(gorgonia.Transpose(s.param("w", []float32{1, 2, 3, 4, 5, 6}, 3, 2)))))
	},
	"matrix times vector": func(s *sheet) node { return must(gorgonia.Mul(s.x, s.param("w", []float32{2, -1}, 2))) },
	"rectified":           func(s *sheet) node { return must(gorgonia.Rectify(s.x)) },
	"leaky":               func(s *sheet) node { return must(gorgonia.LeakyRelu(s.x, 0.1)) },
	"dropout left out": func(s *sheet) node {
		// Drops nothing, so that Gorgonia's result is the same.
		return must(gorgonia.Add(must(gorgonia.Dropout(s.x, 0)), s.pos))
	},
	"log of softmax": func(s *sheet) node {
		return must(gorgonia.LogSoftMax(must(gorgonia.Mul(s.x, gorgonia.NewConstant(float32(100)))), 1))
	},
	"pairs": func(s *sheet) node {
		return must(gorgonia.HadamardDiv(must(gorgonia.Sub(s.x, s.pos)), must(gorgonia.Add(s.pos, s.pos))))
	},
	"constants before": func(s *sheet) node {
		one := gorgonia.NewConstant(float32(1))
		return must(gorgonia.HadamardDiv(one, must(gorgonia.Add(one, must(gorgonia.Exp(must(gorgonia.Neg(s.x))))))))
	},
	"constant minus": func(s *sheet) node { return must(gorgonia.Sub(gorgonia.NewConstant(float32(1)), s.x)) },
	"larger, smaller": func(s *sheet) node {
		return must(gorgonia.MaxBetween(must(gorgonia.MinBetween(s.x, s.pos)), must(gorgonia.Neg(s.pos))))
	},
	"powers": func(s *sheet) node {
		sum := s.pos
		for _, e := range []float32{2, 3, 0.5, -1, -0.5, 1} {
			sum = must(gorgonia.Add(sum, must(gorgonia.Pow(s.pos, gorgonia.NewConstant(e)))))
		}
		return sum
	},
	"functions": func(s *sheet) node {
		y := s.pos
		for _, f := range []func(node) (node, error){
			gorgonia.Abs, gorgonia.Sqrt, gorgonia.Log1p, gorgonia.Square, gorgonia.Inverse, gorgonia.InverseSqrt, gorgonia.Log2,
			gorgonia.Cube, gorgonia.Tanh, gorgonia.Sigmoid, gorgonia.Softplus, gorgonia.Expm1, gorgonia.Log, gorgonia.Exp,
		} {
			y = must(f(y))
		}
		return y
	},
	"rows added up": func(s *sheet) node { return must(gorgonia.Sum(s.x, 1)) },
	"mean of rows":  func(s *sheet) node { return must(gorgonia.Mean(s.x, 1)) },
	"max of rows":   func(s *sheet) node { return must(gorgonia.Max(s.x, 1)) },
	"rows normed": func(s *sheet) node {
		norm := must(gorgonia.Reshape(must(gorgonia.Norm(s.pos, 1, 2)), tensor.Shape{3, 1}))
		return must(gorgonia.BroadcastHadamardDiv(s.x, norm, nil, []byte{1}))
	},
	"a column repeated first": func(s *sheet) node {
		v := must(gorgonia.Reshape(s.v, tensor.Shape{3, 1}))
		return must(gorgonia.BroadcastSub(v, s.x, []byte{1}, nil))
	},
	"repeated, then joined": func(s *sheet) node {
		v := must(gorgonia.Reshape(s.v, tensor.Shape{3, 1}))
		wide, _, err := gorgonia.Broadcast(v, s.x, gorgonia.NewBroadcastPattern([]byte{1}, nil))
		return must(gorgonia.Concat(1, must(wide, err), s.x))
	},
	"columns": func(s *sheet) node {
		y := must(gorgonia.Concat(1, s.x, s.pos))
		return must(gorgonia.Slice(y, nil, gorgonia.S(1, 3)))
	},
	"one column": func(s *sheet) node { return must(gorgonia.Slice(s.x, nil, gorgonia.S(1))) },
	"looked up": func(s *sheet) node {
		table := s.param("table", []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 4, 3)
		return must(gorgonia.Reshape(must(gorgonia.ByIndices(table, s.ids, 0)), tensor.Shape{3, 6}))
	},
	"params combined": func(s *sheet) node {
		w := must(gorgonia.HadamardProd(s.param("w", []float32{1, 2}, 1, 2), gorgonia.NewConstant(float32(3))))
		return must(gorgonia.BroadcastHadamardProd(s.x, w, nil, []byte{0}))
	},
}

func must(n node, err error) node {
	if err != nil {
		panic(err)
	}
	return n
}

// The tolerance is for float32 functions of two mathematical libraries in a chain of up to 14. One
// after another: Gorgonia's Rectify and LeakyRelu share one node between all expressions.
func TestGraphsFromGorgoniaGiveWhatGorgoniaGives(t *testing.T) {
	for name, write := range expressions {
		t.Run(name, func(t *testing.T) {
			s := newSheet(t)
			y := write(s)
			g, err := autodiff.FromGorgonia(s.inputs(), map[string]*gorgonia.Node{"y": y})
			if err != nil {
				t.Fatal(err)
			}
			out, err := nn.Eval(g, s.values())
			if err != nil {
				t.Fatal(err)
			}
			want := s.run(y)
			got := out["y"].Floats
			if len(got) != len(want) {
				t.Fatalf("%d numbers, Gorgonia has %d", len(got), len(want))
			}
			for i := range want {
				if d := math.Abs(float64(got[i] - want[i])); !(d <= 1e-5*max(1, math.Abs(float64(want[i])))) {
					t.Errorf("number %d is %v, Gorgonia has %v", i, got[i], want[i])
				}
			}
		})
	}
}

// run returns the result of Gorgonia's own machine for y.
func (s *sheet) run(y node) []float32 {
	var value gorgonia.Value
	gorgonia.Read(y, &value)
	m := gorgonia.NewTapeMachine(s.g)
	defer m.Close()
	if err := m.RunAll(); err != nil {
		s.t.Fatal(err)
	}
	return value.Data().([]float32)
}

func TestWhatIsNotKnownOfGorgoniaIsNamed(t *testing.T) {
	for want, write := range map[string]func(s *sheet) node{
		`output "y": op sin of shape (3, 2): is not known`: func(s *sheet) node { return must(gorgonia.Sin(s.x)) },
		`op Σ[0] of shape (2): expected rows, and their axis 1`: func(s *sheet) node {
			return must(gorgonia.Sum(s.x, 0))
		},
		`op Σ[0 1] of shape (): expected rows, and their axis 1`: func(s *sheet) node { return must(gorgonia.Sum(s.x)) },
		`leaf "w" is no input and has no value`: func(s *sheet) node {
			return must(gorgonia.Mul(s.x, gorgonia.NewMatrix(s.g, tensor.Float32, gorgonia.WithName("w"), gorgonia.WithShape(2, 2))))
		},
		`expected a slice of columns, not of rows`:                              func(s *sheet) node { return must(gorgonia.Slice(s.x, gorgonia.S(0, 2))) },
		`rows of 2 numbers don't stay rows`:                                     func(s *sheet) node { return must(gorgonia.Reshape(s.x, tensor.Shape{2, 3})) },
		`exponent 2.5: expected 1, 2, 3, 0.5, -1 or -0.5`:                       func(s *sheet) node { return must(gorgonia.Pow(s.x, gorgonia.NewConstant(float32(2.5)))) },
		`comparisons are known where they choose`:                               func(s *sheet) node { return must(gorgonia.HadamardProd(s.x, must(gorgonia.Gt(s.pos, s.x, true)))) },
		`expected a matrix of params`:                                           func(s *sheet) node { return must(gorgonia.Mul(s.x, must(gorgonia.Transpose(s.pos)))) },
		`expected one row for each row of the inputs`:                           func(s *sheet) node { return s.param("w", []float32{1, 2, 3}, 3) },
		`op Softmax{-1, false}() of shape (3): expected rows, and their axis 1`: func(s *sheet) node { return must(gorgonia.SoftMax(s.v)) },
		`has to be put side by side by Reshape first`: func(s *sheet) node {
			return must(gorgonia.Sum(must(gorgonia.ByIndices(s.param("t", make([]float32, 8), 4, 2), s.ids, 0)), 1))
		},
		`expected columns joined, along axis 1`: func(s *sheet) node { return must(gorgonia.Concat(0, s.x, s.pos)) },
	} {
		s := newSheet(t)
		_, err := autodiff.FromGorgonia(s.inputs(), map[string]*gorgonia.Node{"y": write(s)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, expected %s", err, want)
		}
	}
	s := newSheet(t)
	alone := must(gorgonia.Add(s.pos, must(gorgonia.Gt(s.x, gorgonia.NewConstant(float32(0)), true))))
	_, err := autodiff.FromGorgonia(s.inputs(), map[string]*gorgonia.Node{"y": alone})
	if err == nil || !strings.Contains(err.Error(), "comparisons are known where they choose") {
		t.Errorf("a comparison added: %v", err)
	}
	if _, err := autodiff.FromGorgonia(gorgonia.Nodes{s.x, s.x}, nil); err == nil || !strings.Contains(err.Error(), "a name of its own") {
		t.Errorf("one input twice: %v", err)
	}
}
