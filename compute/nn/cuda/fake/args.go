package fake

import (
	"math"

	"github.com/stoker-ml/stoker/compute/nn/cuda"
)

// The arguments of a call, one after the other.

func (c *call) pointer() cuda.Pointer { return cuda.Pointer(c.next(cuda.PointerParam)) }

func (c *call) int() int { return int(int32(uint32(c.next(cuda.IntParam)))) }

func (c *call) flag() bool {
	v := c.int()
	if v != 0 && v != 1 {
		c.fail("fake: a flag is %d", v)
	}
	return v == 1
}

func (c *call) float() float32 { return math.Float32frombits(uint32(c.next(cuda.FloatParam))) }

func (c *call) long() uint64 { return c.next(cuda.LongParam) }

// The threads of a call.

// needs checks the launch's blocks and threads, as the kernel's source says they must be.
func (c *call) needs(gridX, gridY, blockX, blockY int) {
	want := [2]cuda.Dim{{X: gridX, Y: gridY, Z: 1}, {X: blockX, Y: blockY, Z: 1}}
	if have := [2]cuda.Dim{c.launch.Grid, c.launch.Block}; have != want {
		c.fail("fake: node %s: launched with blocks and threads %v, expected %v", c.launch.Node, have, want)
	}
	if gridX < 1 || gridY < 1 || gridY > 65535 {
		c.fail("fake: no GPU takes %d x %d blocks", gridX, gridY)
	}
}

func (c *call) perElement(n int) { c.needs(blocks(n, 256), 1, 256, 1) }
func (c *call) perRow(n int)     { c.needs(blocks(n, 8), 1, 32, 8) }

func blocks(n, threads int) int {
	count := n / threads
	if n%threads > 0 {
		count++
	}
	return count
}
