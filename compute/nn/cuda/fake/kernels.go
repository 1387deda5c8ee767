package fake

// meanings are the kernels, by name. Each reads its arguments in the order of the kernel's
// parameters.
var meanings = map[string]func(*call){
	"map": func(c *call) {
		y, x, n, f := c.pointer(), c.pointer(), c.int(), c.int()
		c.perElement(n)
		c.free = true
		from, to := span[float32](c, x, n, read), span[float32](c, y, n, write)
		for i, v := range from {
			to[i] = apply(f, v)
		}
	},
	"slope": func(c *call) {
		dx, dy, v, n, f := c.pointer(), c.pointer(), c.pointer(), c.int(), c.int()
		c.perElement(n)
		c.free = true
		g, at, to := span[float32](c, dy, n, read), span[float32](c, v, n, read), span[float32](c, dx, n, write)
		for i := range to {
			to[i] = g[i] * slopeOf(f, at[i])
		}
	},
	"combine": combine,
	"repeat": func(c *call) {
		y, x, rows, cols, shape := c.pointer(), c.pointer(), c.int(), c.int(), c.int()
		c.perElement(rows * cols)
		from, to := span[float32](c, x, operand(c, shape, rows, cols), read), span[float32](c, y, rows*cols, write)
		for i := range to {
			to[i] = from[broadcast(shape, i/cols, i%cols, cols)]
		}
	},
	"copy": func(c *call) {
		y, x, n, add := c.pointer(), c.pointer(), c.int(), c.flag()
		c.perElement(n)
		from, to := span[float32](c, x, n, read), span[float32](c, y, n, addOr(add))
		for i, v := range from {
			to[i] = plus(add, to[i], v)
		}
	},
	"fill": func(c *call) {
		y, n, v := c.pointer(), c.int(), c.float()
		c.perElement(n)
		for i, to := 0, span[float32](c, y, n, write); i < n; i++ {
			to[i] = v
		}
	},
	"epilogue": func(c *call) {
		at, bias, rows, cols, f := c.pointer(), c.pointer(), c.int(), c.int(), c.int()
		c.perElement(rows * cols)
		to := span[float32](c, at, rows*cols, read|write)
		var b []float32
		if bias != 0 {
			b = span[float32](c, bias, cols, read)
		}
		for i, v := range to {
			if b != nil {
				v += b[i%cols]
			}
			to[i] = apply(f, v)
		}
	},
	"gemm":              gemm,
	"sum_columns":       sumColumns,
	"max_columns":       maxColumns,
	"softmax":           func(c *call) { softmax(c, false) },
	"log_softmax":       func(c *call) { softmax(c, true) },
	"softmax_slope":     func(c *call) { softmaxSlope(c, false) },
	"log_softmax_slope": func(c *call) { softmaxSlope(c, true) },
	"sum_parts":         sumParts,
	"sum_finish":        sumFinish,
	"norm_finish":       normFinish,
	"sum_rows":          sumRows,
	"finish":            finish,
	"gather":            gather,
	"sparse":            sparse,
	"scatter":           scatter,
	"place":             place,
	"pad":               pad,
	"transpose":         transpose,
	"dropout":           dropout,
	"update":            update,
	"clip_value":        clipValue,
	"clip_norm":         clipNorm,
}

func combine(c *call) {
	z, x, y, rows, cols := c.pointer(), c.pointer(), c.pointer(), c.int(), c.int()
	f, shape, swapped, scale := c.int(), c.int(), c.flag(), c.float()
	n := rows * cols
	c.perElement(n)
	c.free = true
	a, b, to := span[float32](c, x, n, read), span[float32](c, y, operand(c, shape, rows, cols), read), span[float32](c, z, n, write)
	for i := range to {
		p, q := a[i], b[broadcast(shape, i/cols, i%cols, cols)]
		if swapped {
			p, q = q, p
		}
		to[i] = scale * combined(f, p, q)
	}
}

// operand returns how many numbers an operand of a shape has, after reading its address.
func operand(c *call, shape, rows, cols int) int {
	switch shape {
	case 0:
		return rows * cols
	case 1:
		return cols
	case 2:
		return rows
	case 3:
		return 1
	}
	c.fail("fake: no shape %d", shape)
	return 0
}

func broadcast(shape, r, j, cols int) int {
	return [...]int{r*cols + j, j, r, 0}[shape]
}

func addOr(add bool) access {
	if add {
		return read | write
	}
	return write
}

func plus(add bool, old, v float32) float32 {
	if add {
		return old + v
	}
	return v
}
