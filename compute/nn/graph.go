package nn

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"

	"golang.org/x/sys/cpu"

	"github.com/stoker-ml/stoker/compute/kernel"
)

// Graph is a model's forward pass in a form for packages that write it to a file:
// compute/tf/savedmodel and the like. It contains no Gorgonia type. Every value has shape [batch,
// width]; width is fixed, batch is not.
type Graph struct {
	Inputs  []Input
	Nodes   []Node // in an order in which they can be computed
	Params  []Param
	Outputs []Output

	// Training has the nodes for training, if these differ: with Dropout, and normalized by the
	// statistics of the batch. Packages that write a model to a file ignore it. nil: the same as
	// Nodes.
	Training []Node
}

// Input is one named feature fed to the model, missing values already filled.
type Input struct {
	Name  string
	Kind  ValueKind
	Width int
}

// ValueKind is the element type of a value.
type ValueKind int

// The element types.
const (
	Float32 ValueKind = iota
	Int64
	String
)

// Param is a tensor of the model, row major. A dense kernel is [in, out].
type Param struct {
	Name      string // dense_1/kernel
	Shape     []int
	Values    []float32
	Trainable bool

	// Moving means that training changes it, but not along a gradient: it is a moving average, and
	// not Trainable.
	Moving bool

	// Penalty is what its values add to the loss in training.
	Penalty Penalty
}

// Node computes one value. In names inputs, params or earlier nodes.
type Node struct {
	Name string
	Op   Op
	In   []string
	Attr Attr
}

// Op defines what a node computes. x is In[0], of shape [batch, n] unless noted otherwise.
type Op string

// The operations. If two operands are combined element by element, "x op y" below, the second is a
// value of x's width, a value of width 1, or a param of shape [n] or [1]: a narrower one is
// repeated along the width, and a param for every row.
const (
	OpMatMul  Op = "MatMul"  // x [b,k] times param In[1] [k,n]
	OpAddBias Op = "AddBias" // x + param In[1] [n]
	OpAdd     Op = "Add"     // x + y
	OpSub     Op = "Sub"     // x - y
	OpMul     Op = "Mul"     // x * y
	OpDiv     Op = "Div"     // x / y
	OpMaximum Op = "Maximum" // the larger of x and y; NaN if one of them is
	OpMinimum Op = "Minimum" // the smaller of x and y; NaN if one of them is

	OpRelu      Op = "Relu"
	OpLeakyRelu Op = "LeakyRelu" // x where x > 0, else Attr.Alpha * x
	OpTanh      Op = "Tanh"
	OpSigmoid   Op = "Sigmoid"
	OpSoftplus  Op = "Softplus" // log(1 + exp(x))
	OpSoftmax   Op = "Softmax"  // over the last axis
	OpNeg       Op = "Neg"
	OpAbs       Op = "Abs"
	OpExp       Op = "Exp"
	OpLog       Op = "Log"
	OpLog1p     Op = "Log1p" // log(1 + x)
	OpExpm1     Op = "Expm1" // exp(x) - 1
	OpSqrt      Op = "Sqrt"
	OpSquare    Op = "Square"
	OpInverse   Op = "Inverse" // 1 / x

	OpConcat Op = "Concat" // all of In, along axis 1
	OpSlice  Op = "Slice"  // columns Attr.Start up to, not including, Attr.End
	OpSum    Op = "Sum"    // over the last axis, [b,1]
	OpMean   Op = "Mean"   // over the last axis, [b,1]
	OpMax    Op = "Max"    // over the last axis, [b,1]

	OpCast Op = "Cast" // int64 to float32
	// int64 [b,w] to float32 [b, w*Attr.Depth]; an index outside 0..Depth-1 gives zeros
	OpOneHot Op = "OneHot"
	// string [b,w] to int64 [b,w]: index in Attr.Vocabulary, or Depth-1 (Depth = len+1) if not in
	// it.
	OpVocab Op = "Vocab"
	OpHash  Op = "Hash" // string [b,w] to int64 [b,w]: FarmHash Fingerprint64 modulo Attr.Depth
	// string or int64 [b,w1], [b,w2] ... to int64 [b,w1*w2*...]: each combination's hash modulo
	// Depth, see Builder.Cross.
	OpCross Op = "Cross"
	// int64 [b,w]: indices outside 0..Depth-2 become Depth-1, the bucket for unknown values
	OpClamp Op = "Clamp"
	// int64 x [b,w], param In[1] [Depth,d]: rows looked up, [b, w*d]; indices must be in range
	OpEmbed   Op = "Embed"
	OpDropNaN Op = "DropNaN" // NaN becomes 0

	OpWithin Op = "Within" // int64 [b,w]: indices outside 0..Depth-1 become Attr.Default
	// float32 [b,w] to int64 [b,w]: how many of Attr.Boundaries, in ascending order, are at most x;
	// all of them for NaN
	OpBucket Op = "Bucket"
	// float32 [b,n] to int64 [b,1]: the column of the largest, the first of equal ones
	OpArgMax Op = "ArgMax"
	// int64 [b,w] to string [b,w]: Attr.Vocabulary[x]; indices must be in range
	OpLabel Op = "Label"
)

// The operations that occur only in Graph.Training; they depend on the whole batch or on
// randomness.
const (
	// x, each element 0 with probability Attr.Rate, else times 1/(1-Attr.Rate); see Builder.Dropout
	OpDropout Op = "Dropout"
	// (x - mean) / sqrt(variance + Attr.Epsilon) of the batch; In[1] and In[2] are the params of
	// its moving averages
	OpStandardize Op = "Standardize"
)

// binaries are the ops that combine two operands element by element.
var binaries = map[Op]kernel.Binary{
	OpAdd: kernel.Add, OpAddBias: kernel.Add, OpSub: kernel.Sub, OpMul: kernel.Mul, OpDiv: kernel.Div,
	OpMaximum: kernel.Max, OpMinimum: kernel.Min,
}

// Binary returns the kernel of an op that combines two operands element by element; ok is false for
// other ops.
func (op Op) Binary() (f kernel.Binary, ok bool) {
	f, ok = binaries[op]
	return f, ok
}

// unaries are the ops on each element alone that a kernel computes.
var unaries = map[Op]kernel.Func{
	OpRelu: kernel.Relu, OpSigmoid: kernel.Sigmoid, OpSoftplus: kernel.Softplus, OpTanh: kernel.Tanh,
	OpNeg: kernel.Neg, OpAbs: kernel.Abs, OpExp: kernel.Exp, OpLog: kernel.Log, OpLog1p: kernel.Log1p,
	OpExpm1: kernel.Expm1, OpSqrt: kernel.Sqrt, OpSquare: kernel.Square, OpInverse: kernel.Inverse,
}

// Func returns the kernel of an op on each element alone; ok is false for other ops.
func (op Op) Func() (f kernel.Func, ok bool) {
	f, ok = unaries[op]
	return f, ok
}

// combines reports whether op combines two operands element by element, with a kernel or without.
func (op Op) combines() bool {
	_, ok := op.Binary()
	return ok && op != OpAddBias
}

// elementwise reports whether op is a function of each element alone.
func (op Op) elementwise() bool {
	_, ok := op.Func()
	return ok || op == OpLeakyRelu || op == OpDropNaN
}

// TrainingOnly reports whether op occurs only in Graph.Training.
func (op Op) TrainingOnly() bool { return op == OpDropout || op == OpStandardize }

// Attr has the attributes that the comment of an Op names; others are zero.
type Attr struct {
	Depth      int
	Vocabulary []string
	Alpha      float32
	Start, End int
	Default    int64
	Boundaries []float32

	Rate     float32 // of Dropout
	Seed     uint64  // of Dropout
	Stream   uint64  // of Dropout: index of the layer among those of one seed
	Epsilon  float64 // of Standardize
	Momentum float64 // of Standardize
}

// Output is a named result of the model: logits, probabilities.
type Output struct {
	Name  string
	Node  string
	Width int
}

// InputsOf returns the names of the inputs that a node's value depends on, in the order of
// Graph.Inputs.
func (g *Graph) InputsOf(node string) []string {
	reached := map[string]bool{node: true}
	for _, n := range slices.Backward(g.Nodes) { // operands come before the nodes that use them
		if !reached[n.Name] {
			continue
		}
		for _, in := range n.In {
			reached[in] = true
		}
	}
	var names []string
	for _, in := range g.Inputs {
		if reached[in.Name] {
			names = append(names, in.Name)
		}
	}
	return names
}

// KernelSet names the arithmetic of this process: the same graph, weights and batches give the same
// bits if it is the same, and may differ in the last ones if it is not. It consists of the
// architecture; whether x*y+z is rounded once or twice, because math.Exp depends on the processor
// and the compiler fuses from level v3 of amd64 on; and the ISA of compute/kernel.
func KernelSet() string { return goSet() + "/" + kernel.CurrentISA().String() }

func goSet() string {
	name := runtime.GOARCH
	if runtime.GOARCH != "amd64" {
		return name
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			if setting.Key == "GOAMD64" && setting.Value != "v1" {
				name += "-" + setting.Value
			}
		}
	}
	if cpu.X86.HasAVX && cpu.X86.HasFMA {
		name += "+fma"
	}
	return name
}

// Value is one column of a batch: the value of an input or a node. It is row major, of shape [rows,
// Width]; the one slice that Kind names is set and has rows*Width elements.
type Value struct {
	Kind    ValueKind
	Width   int
	Floats  []float32
	Ints    []int64
	Strings [][]byte // not copied: they may point into a reader's buffer
}

// Floats returns a Value of float32.
func Floats(width int, v ...float32) Value { return Value{Kind: Float32, Width: width, Floats: v} }

// Ints returns a Value of int64.
func Ints(width int, v ...int64) Value { return Value{Kind: Int64, Width: width, Ints: v} }

// Strings returns a Value of byte strings.
func Strings(width int, v ...string) Value {
	s := make([][]byte, len(v))
	for i := range v {
		s[i] = []byte(v[i])
	}
	return Value{Kind: String, Width: width, Strings: s}
}

// Type is the kind and width of a Value.
type Type struct {
	Kind  ValueKind
	Width int
}

// String returns a text like float32[b,3].
func (t Type) String() string { return fmt.Sprintf("%s[b,%d]", t.Kind, t.Width) }

// String returns TensorFlow's name of the element type.
func (k ValueKind) String() string {
	switch k {
	case Float32:
		return "float32"
	case Int64:
		return "int64"
	case String:
		return "string"
	}
	return fmt.Sprintf("ValueKind(%d)", int(k))
}

// len returns the number of elements, whatever their kind.
func (v Value) len() int {
	switch v.Kind {
	case Int64:
		return len(v.Ints)
	case String:
		return len(v.Strings)
	default:
		return len(v.Floats)
	}
}

// fits returns an error if v is not rows values of type t.
func (v Value) fits(t Type, rows int) error {
	if v.Kind != t.Kind || v.Width != t.Width {
		return fmt.Errorf("is %s, expected %s", Type{v.Kind, v.Width}, t)
	}
	if v.len() != rows*t.Width {
		return fmt.Errorf("holds %d elements, expected %d rows of %d", v.len(), rows, t.Width)
	}
	return nil
}

func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
