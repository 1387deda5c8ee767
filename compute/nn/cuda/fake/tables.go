package fake

import "github.com/stoker-ml/stoker/compute/nn/cuda"

func gather(c *call) {
	y, table, ids, count, width, height := c.pointer(), c.pointer(), c.pointer(), c.int(), c.int(), c.int()
	status, instr := c.pointer(), c.int()
	c.perElement(count * width)
	rows, at, to := span[float32](c, table, height*width, read), span[int64](c, ids, count, read), span[float32](c, y, count*width, write)
	for i, id := range at {
		row := to[i*width : (i+1)*width]
		clear(row)
		if id < 0 || id >= int64(height) {
			c.complain(status, instr)
			continue
		}
		copy(row, rows[int(id)*width:])
	}
}

func sparse(c *call) {
	y, values, ids, w := c.pointer(), c.pointer(), c.pointer(), c.pointer()
	rows, places, width, height := c.int(), c.int(), c.int(), c.int()
	status, instr := c.pointer(), c.int()
	c.perElement(rows * width)
	v, at := span[float32](c, values, rows*places, read), span[int64](c, ids, rows*places, read)
	table, to := span[float32](c, w, height*width, read), span[float32](c, y, rows*width, write)
	clear(to)
	for i, id := range at {
		if id >= int64(height) {
			c.complain(status, instr)
			continue
		}
		for j := 0; id >= 0 && j < width; j++ {
			to[i/places*width+j] += v[i] * table[int(id)*width+j]
		}
	}
}

func scatter(c *call) {
	table, values, ids, y := c.pointer(), c.pointer(), c.pointer(), c.pointer()
	count, places, width, height := c.int(), c.int(), c.int(), c.int()
	status, instr := c.pointer(), c.int()
	c.needs(count, 1, 128, 1)
	at, from, to := span[int64](c, ids, count, read), span[float32](c, y, count/places*width, read), span[float32](c, table, height*width, read|write)
	var v []float32
	if values != 0 {
		v = span[float32](c, values, count, read)
	}
	for i, id := range at {
		if id >= int64(height) || id < 0 && v == nil {
			c.complain(status, instr)
			continue
		}
		value := float32(1)
		if v != nil {
			value = v[i]
		}
		for j := 0; id >= 0 && j < width; j++ {
			to[int(id)*width+j] += value * from[i/places*width+j]
		}
	}
}

func (c *call) complain(status cuda.Pointer, instr int) {
	span[int32](c, status, 1, write)[0] = int32(instr + 1)
	c.spans = c.spans[:len(c.spans)-1] // any thread may say so
}

func place(c *call) {
	y, x, rows, cols := c.pointer(), c.pointer(), c.int(), c.int()
	ywidth, ystart, xwidth, xstart := c.int(), c.int(), c.int(), c.int()
	c.perElement(rows * cols)
	if ystart < 0 || ystart+cols > ywidth || xstart < 0 || xstart+cols > xwidth {
		c.fail("fake: %d columns from %d of %d to %d of %d", cols, xstart, xwidth, ystart, ywidth)
	}
	from := span[float32](c, x, rows*xwidth, read)
	for r := range rows {
		to := span[float32](c, y+cuda.Pointer(4*(r*ywidth+ystart)), cols, write)
		copy(to, from[r*xwidth+xstart:])
	}
}

func pad(c *call) {
	y, x, rows, cols, xwidth, start := c.pointer(), c.pointer(), c.int(), c.int(), c.int(), c.int()
	c.perElement(rows * cols)
	from, to := span[float32](c, x, rows*xwidth, read), span[float32](c, y, rows*cols, write)
	clear(to)
	for r := range rows {
		for j := range xwidth {
			if at := j + start; at >= 0 && at < cols {
				to[r*cols+at] = from[r*xwidth+j]
			}
		}
	}
}

func transpose(c *call) {
	y, x, rows, cols := c.pointer(), c.pointer(), c.int(), c.int()
	c.needs(blocks(cols, 32), blocks(rows, 32), 32, 8)
	from, to := span[float32](c, x, rows*cols, read), span[float32](c, y, rows*cols, write)
	for i, v := range from {
		to[i%cols*rows+i/cols] = v
	}
}
