package cuda

import "github.com/stoker-ml/stoker/compute/nn/plan"

// rowsOf writes what goes along rows, or sums.
func (c *compiler) rowsOf(in plan.Instr) {
	x := c.buffer(in.In[0])
	to, from := c.at(in.Out), c.at(in.In[0])
	own := rows(x.Rows)
	switch in.Op {
	case plan.Reduce:
		c.reduce(in)
	case plan.ReduceMax:
		c.launch(MaxColumns, own, to, from, x.Rows, x.Cols)
	case plan.Softmax:
		c.launch(Softmax, own, to, from, x.Rows, x.Cols)
	case plan.LogSoftmax:
		c.launch(LogSoftmax, own, to, from, x.Rows, x.Cols)
	case plan.SoftmaxSlope:
		c.launch(SoftmaxSlope, own, to, from, c.at(in.In[1]), x.Rows, x.Cols)
	case plan.LogSoftmaxSlope:
		c.launch(LogSoftmaxSlope, own, to, from, c.at(in.In[1]), x.Rows, x.Cols)
	}
}

func (c *compiler) reduce(in plan.Instr) {
	x := c.buffer(in.In[0])
	to, from := c.at(in.Out), c.at(in.In[0])
	switch in.Axis {
	case plan.Rows:
		c.launch(SumRows, columns(x.Cols), to, from, x.Rows, x.Cols, scale(in), in.Add)
	case plan.Cols:
		c.launch(SumColumns, rows(x.Rows), to, from, x.Rows, x.Cols, scale(in), in.Add)
	case plan.All:
		p := parts(x.Len())
		c.launch(SumParts, p, c.memory.parts, from, x.Len(), false)
		c.launch(SumFinish, oneBlock(elementBlock), to, c.memory.parts, p.grid.X, scale(in), in.Add)
	}
}

// table writes what looks ids up.
func (c *compiler) table(in plan.Instr) {
	to, x, ids := c.at(in.Out), c.at(in.In[0]), c.at(in.In[1])
	out, status, number := c.buffer(in.Out), c.memory.status, c.number
	n := c.buffer(in.In[1]).Len()
	switch in.Op {
	case plan.Gather:
		table := c.buffer(in.In[0])
		c.launch(Gather, elements(n*table.Cols), to, x, ids, n, table.Cols, table.Rows, status, number)
	case plan.Scatter:
		c.clear(in)
		c.launch(Scatter, crowds(n), to, Pointer(0), ids, x, n, 1, out.Cols, out.Rows, status, number)
	case plan.Sparse:
		w, values := c.buffer(in.In[2]), c.buffer(in.In[0])
		c.launch(Sparse, elements(out.Len()), to, x, ids, c.at(in.In[2]), values.Rows, values.Cols, w.Cols, w.Rows, status, number)
	case plan.SparseSlope:
		c.clear(in)
		c.launch(Scatter, crowds(n), to, x, ids, c.at(in.In[2]), n, c.buffer(in.In[0]).Cols, out.Cols, out.Rows, status, number)
	}
}

// clear makes zeros of what is added to, unless it is to stay.
func (c *compiler) clear(in plan.Instr) {
	if n := c.buffer(in.Out).Len(); !in.Add {
		c.launch(Fill, elements(n), c.at(in.Out), n, float32(0))
	}
}

// shape writes what only moves numbers.
func (c *compiler) shape(in plan.Instr) {
	out, x := c.buffer(in.Out), c.buffer(in.In[0])
	to, from := c.at(in.Out), c.at(in.In[0])
	switch in.Op {
	case plan.Concat:
		start := 0
		for _, i := range in.In {
			part := c.buffer(i)
			c.launch(Place, elements(part.Len()), to, c.at(i), out.Rows, part.Cols, out.Cols, start, part.Cols, 0)
			start += part.Cols
		}
	case plan.Columns:
		c.launch(Place, elements(out.Len()), to, from, out.Rows, out.Cols, out.Cols, 0, x.Cols, in.Start)
	case plan.Pad:
		c.launch(Pad, elements(out.Len()), to, from, out.Rows, out.Cols, x.Cols, in.Start)
	case plan.Transpose:
		c.launch(Transpose, tiles(x.Rows, x.Cols), to, from, x.Rows, x.Cols)
	}
}
