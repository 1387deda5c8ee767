package cuda

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// call is one call of a device; one of its fields is set.
type call struct {
	launch  *Launch
	product *productCall
	host    *hostCall
}

func (c call) do(d Device) error {
	switch {
	case c.launch != nil:
		if err := d.Launch(c.launch); err != nil {
			return fmt.Errorf("%s: %w", c.launch.Node, err)
		}
	case c.product != nil:
		if err := c.product.by.Multiply(c.product.Product); err != nil {
			return fmt.Errorf("%s: %w", c.product.node, err)
		}
	case c.host != nil:
		return c.host.do(d)
	}
	return nil
}

// productCall is a product by the device's own Multiplier.
type productCall struct {
	Product
	by   Multiplier
	node string
}

// hostCall runs an operation without a kernel on this computer.
type hostCall struct {
	op   plan.Host
	node string
	out  plan.Slice
	in   []plan.Slice
	to   transfer
	from []transfer
}

func (h *hostCall) do(d Device) error {
	for i := range h.from {
		if err := d.Download(h.from[i].here, h.from[i].at); err != nil {
			return fmt.Errorf("%s: copy operand %d here: %w", h.node, i, err)
		}
	}
	if err := h.op.Do(h.out, h.in); err != nil {
		return fmt.Errorf("%s: %w", h.node, err)
	}
	if err := d.Upload(h.to.at, h.to.here); err != nil {
		return fmt.Errorf("%s: copy the result there: %w", h.node, err)
	}
	return nil
}

// launch adds a call of a kernel, unless it has nothing to do.
func (c *compiler) launch(k KernelID, g geometry, args ...any) {
	if g.grid.X == 0 || g.grid.Y == 0 {
		return
	}
	c.calls = append(c.calls, call{launch: newLaunch(c.node, k, g, args...)})
}

// newLaunch makes the launch of a kernel; arg lists the types of args.
func newLaunch(node string, k KernelID, g geometry, args ...any) *Launch {
	l := &Launch{Kernel: k, Grid: g.grid, Block: g.block, Node: node, Args: make([]Arg, len(args))}
	for i, a := range args {
		l.Args[i] = arg(a)
	}
	return l
}

// Devices are little endian, and so are all computers with one: numbers are copied as they are in
// memory.

const (
	floatBytes = 4
	intBytes   = 8 // of a Go int, and of an id in a kernel
)

func bytesOfFloats(s []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*floatBytes)
}

func bytesOfInts(s []int) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*intBytes)
}

func floatsOf(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/floatBytes)
}

func intsOf(b []byte) []int {
	return unsafe.Slice((*int)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/intBytes)
}

// address returns the address of a slice on this computer. Go doesn't move it while it is in use.
func address(s []float32) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(s))) }

// floats returns the address n floats further, ints n ints further.
func (p Pointer) floats(n int) Pointer { return p + Pointer(n*floatBytes) }

func (p Pointer) ints(n int) Pointer { return p + Pointer(n*intBytes) }

func wordsOf(b []byte) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8)
}

// Numbers of threads with which kernels are launched, as their source defines.
const (
	elementBlock = 256 // threads of a block with one for each element
	lanes        = 32  // threads for a row of a matrix
	rowsOfBlock  = 8   // rows of a block
	tile         = 64  // rows and columns of a product that a block computes
	side         = 16  // threads along each of them
	crowd        = 128 // threads of a block of scatter
	maxParts     = 256 // blocks of sum_parts
)

// geometry is the number of blocks of a launch, and of their threads.
type geometry struct{ grid, block Dim }

// elements has a thread for each of n elements.
func elements(n int) geometry {
	return geometry{Dim{ceil(n, elementBlock), 1, 1}, Dim{elementBlock, 1, 1}}
}

// rows has a row of threads for each row.
func rows(n int) geometry {
	return geometry{Dim{ceil(n, rowsOfBlock), 1, 1}, Dim{lanes, rowsOfBlock, 1}}
}

// columns has a column of threads for each column.
func columns(n int) geometry {
	return geometry{Dim{ceil(n, lanes), 1, 1}, Dim{lanes, rowsOfBlock, 1}}
}

// tiles has a block for each square of 32 x 32 numbers.
func tiles(rows, cols int) geometry {
	return geometry{Dim{ceil(cols, lanes), ceil(rows, lanes), 1}, Dim{lanes, rowsOfBlock, 1}}
}

// productTiles has a block for each tile of a product.
func productTiles(m, n int) geometry {
	return geometry{Dim{ceil(n, tile), ceil(m, tile), 1}, Dim{side, side, 1}}
}

// crowds has a block for each of n ids.
func crowds(n int) geometry { return geometry{Dim{n, 1, 1}, Dim{crowd, 1, 1}} }

// parts divides a sum over n elements, depending only on n.
func parts(n int) geometry {
	return geometry{Dim{min(ceil(n, 8*elementBlock), maxParts), 1, 1}, Dim{elementBlock, 1, 1}}
}

// oneBlock has a single block.
func oneBlock(threads int) geometry { return geometry{Dim{1, 1, 1}, Dim{threads, 1, 1}} }

func ceil(n, by int) int { return (n + by - 1) / by }

// status returns the error that the kernels of a step reported: 0, or 1 + the number of an
// instruction.
func (m *Machine) status() int32 { return int32(math.Float32bits(m.result[1])) }

// outside returns the error of an id that a table doesn't have. The step's result is invalid; the
// next one begins anew.
func (m *Machine) outside(number int) error {
	if err := m.gpu.device.Upload(m.memory.status, make([]byte, 4)); err != nil {
		return m.breakBy(err)
	}
	if err := m.gpu.device.Sync(); err != nil {
		return m.breakBy(err)
	}
	in := m.plan.Code[number]
	height := m.plan.Buffers[m.tableOf(in)].Rows
	ids := m.host[in.In[1]].Ints
	for i, id := range ids {
		sparse := in.Op == plan.Sparse || in.Op == plan.SparseSlope
		if id >= height || id < 0 && !sparse {
			return fmt.Errorf("%s: id %d of %s, place %d, is not in a table of %d rows", in.Node, id, m.plan.Buffers[in.In[1]].Name, i, height)
		}
	}
	return fmt.Errorf("%s: an id of %s is not in a table of %d rows", in.Node, m.plan.Buffers[in.In[1]].Name, height)
}

// tableOf returns the buffer that ids index.
func (m *Machine) tableOf(in plan.Instr) int {
	switch in.Op {
	case plan.Gather:
		return in.In[0]
	case plan.Sparse:
		return in.In[2]
	}
	return in.Out
}
