package cuda

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// call is one thing that a device is asked to do; one of its fields is set.
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

// hostCall has this computer do what no kernel does.
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

// newLaunch makes the call of a kernel; each of args is one of those that arg knows.
func newLaunch(node string, k KernelID, g geometry, args ...any) *Launch {
	l := &Launch{Kernel: k, Grid: g.grid, Block: g.block, Node: node, Args: make([]Arg, len(args))}
	for i, a := range args {
		l.Args[i] = arg(a)
	}
	return l
}
