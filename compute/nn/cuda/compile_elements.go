package cuda

import (
	"math"

	"github.com/stoker-ml/stoker/compute/kernel"
	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// elements writes what has a thread for each element.
func (c *compiler) elements(in plan.Instr) {
	out, to := c.buffer(in.Out), c.at(in.Out)
	n := out.Len()
	all := elements(n)
	switch in.Op {
	case plan.Map:
		c.launch(Map, all, to, c.at(in.In[0]), n, int(in.Func))
	case plan.Slope:
		c.launch(Slope, all, to, c.at(in.In[0]), c.at(in.In[1]), n, int(in.Func))
	case plan.Combine:
		c.launch(Combine, all, to, c.at(in.In[0]), c.at(in.In[1]), out.Rows, out.Cols, int(in.Binary), int(in.Shape), in.Swapped, scale(in))
	case plan.Repeat:
		c.launch(Repeat, all, to, c.at(in.In[0]), out.Rows, out.Cols, int(shapeOf(c.buffer(in.In[0]), out)))
	case plan.Copy:
		c.launch(Copy, all, to, c.at(in.In[0]), n, in.Add)
	case plan.Fill:
		c.launch(Fill, all, to, n, in.Value)
	case plan.Dropout:
		threshold := math.Ceil(float64(min(max(in.Rate, 0), 1)) * (1 << 24))
		c.launch(Dropout, elements(ceil(n, 4)), to, n, int(threshold), 1/(1-in.Rate), in.Seed, in.Stream, c.memory.state)
	}
}

// scale is what the result is multiplied with.
func scale(in plan.Instr) float32 {
	if in.Scale == 0 {
		return 1
	}
	return in.Scale
}

// shapeOf says how x broadcasts over a matrix.
func shapeOf(x, matrix plan.Buffer) kernel.Shape {
	switch {
	case x.Len() == 1:
		return kernel.Scalar
	case x.Len() == matrix.Len():
		return kernel.Full
	case x.Cols == matrix.Cols:
		return kernel.Row
	}
	return kernel.Column
}
