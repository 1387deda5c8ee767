package plan

import (
	"github.com/stoker-ml/stoker/compute/kernel"
)

// Plan is one step, forward and backward: instructions in the order of execution, over buffers
// whose positions never change.
type Plan struct {
	Buffers []Buffer
	Code    []Instr

	Floats  int // length of the arena of float32
	Ints    int // length of the arena of ints
	Strings int // length of the arena of strings
	// Length of all gradients, one after the other in the order of the params given to Compile.
	Grads int

	// Batch is the number of rows that a Forward was written for: all buffers of the arena have a
	// row, or the same number of adjacent ones, for each. 0: the plan has a fixed shape.
	Batch int

	Loss   int            // the buffer of the loss, 1x1
	Inputs map[string]int // the buffers that are fed before each step, by the names of their nodes
	// The buffers besides Loss that can be read after a step, by their requested names.
	Outputs map[string]int
	Params  []Range // ranges of Grads: each param's, in their order
}

// Range is a part of a slice.
type Range struct{ From, To int }

// Home is the memory of a buffer.
type Home int

// The memories.
const (
	Arena Home = iota // the plan's: inputs and all results
	Grads             // the plan's: the gradients, which stay until the next step
	// The caller's: params, which change between steps, and constants, which don't. Its memory is
	// Buffer.Data.
	Bound
)

// Kind is the type of a buffer's elements.
type Kind int

// The kinds.
const (
	Float  Kind = iota // float32
	Int                // int: ids
	String             // strings, in a forward pass alone
)

// Buffer is a matrix in memory, row major without gaps. A vector is one row, or one column if its
// elements are rows; a scalar is 1x1.
type Buffer struct {
	Name string // of an input or a param; else the operation that computes it, for messages
	Kind Kind
	Home Home
	// Its position, in elements of its memory; buffers that are never needed at the same time may
	// overlap.
	At         int
	Rows, Cols int

	Data  []float32 // if Home is Bound; it may be a part of another's
	Param bool      // if Home is Bound: training changes it
}

// Len returns how many elements b has.
func (b Buffer) Len() int { return b.Rows * b.Cols }

// Instr computes one buffer. Operands are indices of Plan.Buffers.
type Instr struct {
	Op  Op
	Out int
	In  []int
	Attr

	Node string // of the expression, for messages
}

// Attr has the attributes that the comment of an Op names; the rest is zero.
type Attr struct {
	Product kernel.Product // Gemm; its Bias is In[2] if there is one
	Func    kernel.Func    // Map, Slope
	Binary  kernel.Binary  // Combine
	Shape   kernel.Shape   // Combine
	Swapped bool           // Combine
	Axis    Axis           // Reduce
	Scale   float32        // Reduce, Combine: a factor of the result; 0 for 1
	Start   int            // Columns, Pad
	Value   float32        // Fill
	// Adds to Out instead of overwriting it: SumRows by Reduce, Scatter, SparseSlope, Copy; Gemm
	// has its own.
	Add    bool
	Rate   float32 // Dropout
	Seed   uint64  // Dropout
	Stream uint64  // Dropout
	Host   Host    // Host
}

// Axis is the axis of a Reduce.
type Axis int

// The axes.
const (
	All  Axis = iota // to 1x1
	Rows             // over the rows: one number a column, [1,cols]
	Cols             // along each row: one number a row, [rows,1]
)

// Op is the operation of an instruction. x, y, z are In[0], In[1], In[2].
type Op int

// The operations.
const (
	Gemm      Op = iota // Out = Product of x and y, with bias z [1,cols] if there is one
	Map                 // Out = Func(x)
	Slope               // Out = x times the slope of Func at y, as kernel.Slope
	Combine             // Out = Binary(x, y), y of the Shape
	Reduce              // Out = the sum of x over Axis
	ReduceMax           // Out = the largest of x along each row
	Repeat              // Out = x, a row, column or scalar, repeated to the shape of Out
	Softmax             // Out = softmax of each row of x
	LogSoftmax
	SoftmaxSlope    // Out = slope for x = dy, y = softmax
	LogSoftmaxSlope // Out = slope for x = dy, y = log softmax
	Gather          // Out = the rows of the table x that y, ids, name; Out has a row for each id
	Scatter         // Out[y[i],:] += x[i,:]; Out is cleared before, unless Add
	Concat          // Out = In side by side
	Columns         // Out = the columns of x from Start
	Pad             // Out = x in the columns from Start, 0 elsewhere
	Transpose       // Out = x transposed
	Copy            // Out = x; the shapes may differ
	Fill            // Out = Value everywhere
	Sparse          // Out = kernel.SparseGemm of values x, ids y, matrix z
	// Out = kernel.SparseGemmSlope of values x, ids y, slopes z; Out is cleared before, unless Add.
	SparseSlope
	Dropout // Out = kernel.Dropout at this step
	OnHost  // Host.Do
)

// Host is an operation without a kernel: Gorgonia's own code, run on this computer. A device copies
// operands to this computer and the result back.
type Host interface {
	Name() string
	// Do computes out from in, all of the buffers' own lengths; a slice of ints is nil if a buffer
	// has floats, and vice versa.
	Do(out Slice, in []Slice) error
}

// Slice is the memory of one buffer, of its Kind.
type Slice struct {
	Floats  []float32
	Ints    []int
	Strings [][]byte // only in a forward pass
}

// Machine runs a Plan on this computer's cores, or on a device. It is for one goroutine at a time.
//
// A machine on a device has a copy of every Bound buffer and of every optimizer's slots. It copies
// them when it is created or first uses them, works on its own copies, and writes them back at
// Sync; changes on this computer in between are lost, unless Push follows. On this computer's cores
// there is one memory, and Sync and Push do nothing.
type Machine interface {
	// Floats and Ints return the memory of an input, or of an output after a step. They are always
	// the same slices, so that data can be decoded right into them.
	Floats(buffer int) []float32
	Ints(buffer int) []int

	// Step runs the plan once, forward and backward, and returns the loss. step, from 0, determines
	// the random elements of Dropout. It allocates nothing.
	Step(step uint64) (loss float32, err error)

	// Grads returns the gradients of the last step, of Plan.Grads elements.
	Grads() []float32

	// Clip changes the gradients of the last step.
	Clip(Clip) error

	// Update changes params by their gradients.
	Update([]Update) error

	// Sync copies params and slots to this computer; Push copies them from this computer.
	Sync() error
	Push() error

	Close() error
}

// Clip limits gradients, as Keras's optimizers do; 0 is no limit. At most one is set.
type Clip struct {
	Value  float32 // each element is kept within -Value..Value
	Norm   float32 // each param's gradient is scaled to at most this L2 norm
	Global float32 // all gradients are scaled together to at most this L2 norm
}

// Update is one step of an optimizer over adjacent params.
type Update struct {
	Rule    kernel.Rule
	Grads   Range     // range of the gradients
	Weights []float32 // the params' memory, as long as the range
	Slots   [][]float32
}
