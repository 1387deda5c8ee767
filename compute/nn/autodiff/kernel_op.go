package autodiff

import (
	"fmt"
	gohash "hash"
	"hash/fnv"
	"math"
	"slices"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/stoker-ml/stoker/compute/kernel"
	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// kernelOp is a kernel as an op of Gorgonia's: on float32, and ints for ids.
type kernelOp struct {
	// Contains everything that determines the result: operations of one name and one shape over the
	// same operands are one.
	name  string
	types []hm.Type // of the operands
	lower plan.Op
	attr  plan.Attr
	shape func(in []tensor.Shape) tensor.Shape
	do    func(y []float32, in []plan.Slice)

	slopes func(in gorgonia.Nodes, y, grad *gorgonia.Node) (gorgonia.Nodes, error) // nil for none
	// Whether each operand has a slope.
	along []bool
}

// apply makes the node of o over its operands.
func (o *kernelOp) apply(in ...*gorgonia.Node) (*gorgonia.Node, error) {
	o.types = nil
	for _, n := range in {
		o.types = append(o.types, n.Type())
	}
	return gorgonia.ApplyOp(o, in...)
}

// Lower implements plan.Lowered.
func (o *kernelOp) Lower() (plan.Op, plan.Attr) { return o.lower, o.attr }

// Do computes into a new tensor.
func (o *kernelOp) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	if len(in) != len(o.types) {
		return nil, fmt.Errorf("%s: %d operands, expected %d", o.name, len(in), len(o.types))
	}
	shapes, operands := make([]tensor.Shape, len(in)), make([]plan.Slice, len(in))
	for i, v := range in {
		shapes[i] = v.Shape()
		switch data := v.Data().(type) {
		case []float32:
			operands[i].Floats = data
		case []int:
			operands[i].Ints = data
		default:
			return nil, fmt.Errorf("%s: operand %d is %v of shape %v", o.name, i, v.Dtype(), v.Shape())
		}
	}
	y := tensor.New(tensor.WithShape(o.shape(shapes)...), tensor.Of(tensor.Float32))
	o.do(y.Data().([]float32), operands)
	return y, nil
}

// SymDiff implements gorgonia.SDOp.
func (o *kernelOp) SymDiff(in gorgonia.Nodes, y, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	if o.slopes == nil {
		return nil, fmt.Errorf("%s has no gradient", o.name)
	}
	return o.slopes(in, y, grad)
}

// DiffWRT implements gorgonia.SDOp.
func (o *kernelOp) DiffWRT(inputs int) []bool {
	if o.along == nil {
		return make([]bool, inputs)
	}
	return o.along
}

// InferShape follows shape.
func (o *kernelOp) InferShape(in ...gorgonia.DimSizer) (tensor.Shape, error) {
	shapes := make([]tensor.Shape, len(in))
	for i, d := range in {
		shape, ok := d.(tensor.Shape)
		if !ok {
			return nil, fmt.Errorf("%s: operand of shape %v", o.name, d)
		}
		shapes[i] = shape
	}
	return o.shape(shapes), nil
}

// Type is a function from the operands' types to a matrix.
func (o *kernelOp) Type() hm.Type {
	return hm.NewFnType(append(slices.Clone(o.types), gorgonia.TensorType{Dims: 2, Of: tensor.Float32})...)
}

// Arity and the following methods tell Gorgonia how to run the op: on plain memory, not in place.
func (o *kernelOp) Arity() int              { return len(o.types) }
func (o *kernelOp) ReturnsPtr() bool        { return false }
func (o *kernelOp) CallsExtern() bool       { return false }
func (o *kernelOp) OverwritesInput() int    { return -1 }
func (o *kernelOp) WriteHash(h gohash.Hash) { _, _ = h.Write([]byte(o.name)) } // never fails
func (o *kernelOp) String() string          { return o.name }

// Hashcode returns a hash of the name.
func (o *kernelOp) Hashcode() uint32 {
	h := fnv.New32a()
	o.WriteHash(h)
	return h.Sum32()
}

func shapeOfFirst(in []tensor.Shape) tensor.Shape { return in[0].Clone() }

// Gorgonia's own softmax is wrong: to find a row's maximum it takes the first number of the first
// row instead of that row's, so that one large logit makes other rows underflow, and log-softmax of
// a row may be -Inf. Observed in gorgonia.org/tensor v0.9.24, StdEng.softMaxLastDimF32.

// softmaxNode is softmax of each row; dx[j] = (g[j] - sum_k g[k] y[k]) y[j].
func softmaxNode(x *gorgonia.Node) (*gorgonia.Node, error) {
	o := rowOp("RowSoftmax", plan.Softmax, x.Shape()[1], func(y []float32, in [][]float32) { softmaxRow(y, in[0]) })
	return o.withSlope(rowOp("RowSoftmaxSlope", plan.SoftmaxSlope, x.Shape()[1], softmaxSlope)).apply(x)
}

// logSoftmaxNode is log softmax of each row; dx[j] = g[j] - exp(y[j]) sum_k g[k].
func logSoftmaxNode(x *gorgonia.Node) (*gorgonia.Node, error) {
	o := rowOp("RowLogSoftmax", plan.LogSoftmax, x.Shape()[1], func(y []float32, in [][]float32) { logSoftmaxRow(y, in[0]) })
	return o.withSlope(rowOp("RowLogSoftmaxSlope", plan.LogSoftmaxSlope, x.Shape()[1], logSoftmaxSlope)).apply(x)
}

// rowOp returns an op over the rows of float matrices of one shape, with width columns.
func rowOp(name string, lower plan.Op, width int, row func(y []float32, in [][]float32)) *kernelOp {
	return &kernelOp{
		name: name, lower: lower, shape: shapeOfFirst,
		do: func(y []float32, in []plan.Slice) {
			rows := make([][]float32, len(in))
			for from := 0; from < len(y); from += width {
				for i := range in {
					rows[i] = in[i].Floats[from : from+width]
				}
				row(y[from:from+width], rows)
			}
		},
	}
}

// withSlope gives o, of one operand, a slope: a function of the result's gradient and the result.
func (o *kernelOp) withSlope(slope *kernelOp) *kernelOp {
	o.along = []bool{true}
	o.slopes = func(_ gorgonia.Nodes, y, grad *gorgonia.Node) (gorgonia.Nodes, error) {
		dx, err := slope.apply(grad, y)
		return gorgonia.Nodes{dx}, err
	}
	return o
}

func softmaxSlope(dx []float32, in [][]float32) {
	g, y, sum := in[0], in[1], 0.0
	for k := range y {
		sum += float64(g[k]) * float64(y[k])
	}
	for j := range dx {
		dx[j] = float32((float64(g[j]) - sum) * float64(y[j]))
	}
}

func logSoftmaxSlope(dx []float32, in [][]float32) {
	g, y, sum := in[0], in[1], 0.0
	for k := range g {
		sum += float64(g[k])
	}
	for j := range dx {
		dx[j] = float32(float64(g[j]) - math.Exp(float64(y[j]))*sum)
	}
}

// columnsNode is the columns of a matrix from start up to, not including, end. Gorgonia's own
// slices remove an axis of size 1, and so do their gradients.
func columnsNode(x *gorgonia.Node, start, end int) (*gorgonia.Node, error) {
	width := x.Shape()[1]
	return (&kernelOp{
		name:  fmt.Sprintf("Columns{%d, %d}", start, end),
		lower: plan.Columns, attr: plan.Attr{Start: start},
		shape: func(in []tensor.Shape) tensor.Shape { return tensor.Shape{in[0][0], end - start} },
		do: func(y []float32, in []plan.Slice) {
			for r := range len(y) / (end - start) {
				copy(y[r*(end-start):(r+1)*(end-start)], in[0].Floats[r*width+start:])
			}
		},
		slopes: func(_ gorgonia.Nodes, _, grad *gorgonia.Node) (gorgonia.Nodes, error) {
			dx, err := padNode(grad, start, width)
			return gorgonia.Nodes{dx}, err
		},
		along: []bool{true},
	}).apply(x)
}

// padNode is x in the columns from start, and 0 elsewhere, width columns in all.
func padNode(x *gorgonia.Node, start, width int) (*gorgonia.Node, error) {
	n := x.Shape()[1]
	return (&kernelOp{
		name:  fmt.Sprintf("Pad{%d, %d}", start, width),
		lower: plan.Pad, attr: plan.Attr{Start: start},
		shape: func(in []tensor.Shape) tensor.Shape { return tensor.Shape{in[0][0], width} },
		do: func(y []float32, in []plan.Slice) {
			clear(y)
			for r := range len(y) / width {
				copy(y[r*width+start:], in[0].Floats[r*n:(r+1)*n])
			}
		},
		slopes: func(_ gorgonia.Nodes, _, grad *gorgonia.Node) (gorgonia.Nodes, error) {
			dx, err := columnsNode(grad, start, start+n)
			return gorgonia.Nodes{dx}, err
		},
		along: []bool{true},
	}).apply(x)
}

// sparseNode is y[r,:] = sum_p values[r,p] w[ids[r,p],:]: the product of a matrix that is nearly
// all zeros with w, where ids [b*places] are the columns of values [b,places]. An id below 0 counts
// as nothing. There is a slope only along w.
func sparseNode(values, ids, w *gorgonia.Node) (*gorgonia.Node, error) {
	places, width := values.Shape()[1], w.Shape()[1]
	return (&kernelOp{
		name: "SparseProduct", lower: plan.Sparse,
		shape: func(in []tensor.Shape) tensor.Shape { return tensor.Shape{in[0][0], width} },
		do: func(y []float32, in []plan.Slice) {
			alone.SparseGemm(y, in[0].Floats, in[1].Ints, in[2].Floats, len(y)/width, places, width)
		},
		slopes: func(in gorgonia.Nodes, _, grad *gorgonia.Node) (gorgonia.Nodes, error) {
			dw, err := sparseSlopeNode(values, ids, grad, in[2].Shape()[0])
			return gorgonia.Nodes{nil, nil, dw}, err
		},
		along: []bool{false, false, true},
	}).apply(values, ids, w)
}

// sparseSlopeNode is dw[ids[r,p],:] += values[r,p] dy[r,:], with so many rows.
func sparseSlopeNode(values, ids, dy *gorgonia.Node, rows int) (*gorgonia.Node, error) {
	places, width := values.Shape()[1], dy.Shape()[1]
	return (&kernelOp{
		name: fmt.Sprintf("SparseProductSlope{%d}", rows), lower: plan.SparseSlope,
		shape: func([]tensor.Shape) tensor.Shape { return tensor.Shape{rows, width} },
		do: func(dw []float32, in []plan.Slice) {
			clear(dw)
			alone.SparseGemmSlope(dw, in[0].Floats, in[1].Ints, in[2].Floats, len(in[2].Floats)/width, places, width)
		},
	}).apply(values, ids, dy)
}

// alone is the caller's thread.
var alone *kernel.ThreadPool

// softmaxRow is y[j] = exp(x[j]-m) / sum_k exp(x[k]-m), m the largest of the row.
func softmaxRow(y, x []float32) {
	m, sum := slices.Max(x), 0.0
	for j := range x {
		e := math.Exp(float64(x[j] - m))
		y[j] = float32(e)
		sum += e
	}
	for j := range y {
		y[j] = float32(float64(y[j]) / sum)
	}
}

// logSoftmaxRow is y[j] = x[j] - m - log sum_k exp(x[k]-m), m the largest of the row: finite where
// softmax underflows.
func logSoftmaxRow(y, x []float32) {
	m, sum := slices.Max(x), 0.0
	for _, xj := range x {
		sum += math.Exp(float64(xj - m))
	}
	logSum := math.Log(sum)
	for j, xj := range x {
		y[j] = float32(float64(xj-m) - logSum)
	}
}

// Gorgonia also multiplies by kernel.Gemm, for what a plan leaves to an operation's own code, and
// for the tape that is the tests' oracle. It has one BLAS for a process, which must not be in use
// when it is set: therefore here.
var _ = useKernels()

func useKernels() struct{} {
	gorgonia.Use(kernel.BLAS{})
	return struct{}{}
}
