package fake

import (
	"fmt"
	"strings"
	"unsafe"

	"github.com/stoker-ml/stoker/compute/nn/cuda"
)

// Load implements cuda.Device. Each kernel must be one that the fake knows, and be in the PTX.
func (d *Device) Load(ptx string, kernels []cuda.Kernel) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, k := range kernels {
		if !strings.Contains(ptx, ".entry "+k.Name+"(") {
			return fmt.Errorf("fake: the module has no kernel %s", k.Name)
		}
		if _, known := meanings[k.Name]; !known {
			return fmt.Errorf("fake: what kernel %s does is not known here", k.Name)
		}
	}
	d.kernels = kernels
	return nil
}

// Launch implements cuda.Device.
func (d *Device) Launch(l *cuda.Launch) (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.FailLaunch != nil {
		return d.FailLaunch
	}
	if d.closed {
		return errClosed
	}
	if int(l.Kernel) < 0 || int(l.Kernel) >= len(d.kernels) {
		return fmt.Errorf("fake: kernel %d is not loaded", l.Kernel)
	}
	k := d.kernels[l.Kernel]
	if err := matches(k, l.Args); err != nil {
		return err
	}
	if d.counts == nil {
		d.counts = map[string]int{}
	}
	d.counts[k.Name]++
	c := &call{device: d, launch: l, args: l.Args}
	defer func() {
		if fault, ok := recover().(fault); ok {
			err = fmt.Errorf("kernel %s: %w", k.Name, fault.error)
		}
	}()
	meanings[k.Name](c)
	return c.finished()
}

// matches returns an error if arguments are not the kernel's parameters.
func matches(k cuda.Kernel, args []cuda.Arg) error {
	if len(args) != len(k.Params) {
		return fmt.Errorf("kernel %s: %d arguments for %d parameters", k.Name, len(args), len(k.Params))
	}
	for i, a := range args {
		if byte(a.Kind) != k.Params[i] {
			return fmt.Errorf("kernel %s: argument %d is of kind %c, expected %c", k.Name, i, a.Kind, k.Params[i])
		}
	}
	return nil
}

// call is a launch in progress.
type call struct {
	device *Device
	launch *cuda.Launch
	args   []cuda.Arg // those that were not read yet
	spans  []touched
	free   bool // the result may be written over an operand: elements are computed one by one
}

// touched is memory that a call uses.
type touched struct {
	from, to cuda.Pointer
	do       access
}

// fault ends a call.
type fault struct{ error }

func (c *call) fail(format string, values ...any) { panic(fault{fmt.Errorf(format, values...)}) }

// span returns n elements of T at p.
func span[T any](c *call, p cuda.Pointer, n int, do access) []T {
	var zero T
	size := int(unsafe.Sizeof(zero))
	if n < 0 {
		c.fail("fake: %d elements", n)
	}
	if n == 0 {
		return nil
	}
	if int(p)%size != 0 {
		c.fail("fake: %#x is not aligned to %d bytes", p, size)
	}
	b, err := c.device.memory.bytes(p, n*size, do)
	if err != nil {
		panic(fault{err})
	}
	c.spans = append(c.spans, touched{p, p + cuda.Pointer(n*size), do})
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// finished checks that all arguments were used, and that no thread reads what another one writes.
func (c *call) finished() error {
	if len(c.args) > 0 {
		return fmt.Errorf("fake: %d arguments are left over", len(c.args))
	}
	for i, w := range c.spans {
		for j, r := range c.spans {
			if i == j || w.do&write == 0 || w.to <= r.from || r.to <= w.from {
				continue
			}
			if same := w.from == r.from && w.to == r.to; !same || !c.free {
				return fmt.Errorf("fake: node %s: %#x..%#x is written while %#x..%#x is in use", c.launch.Node, w.from, w.to, r.from, r.to)
			}
		}
	}
	return nil
}

func (c *call) next(kind cuda.ParamKind) uint64 {
	a := c.args[0]
	c.args = c.args[1:]
	if a.Kind != kind {
		c.fail("fake: the fake expects kind %c, the launch has %c", kind, a.Kind)
	}
	return a.Bits
}
