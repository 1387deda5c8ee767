package fake

import (
	"math"

	"github.com/stoker-ml/stoker/compute/nn/cuda"
)

func gemm(c *call) {
	to, a, b, bias := c.pointer(), c.pointer(), c.pointer(), c.pointer()
	m, n, k := c.int(), c.int(), c.int()
	ta, tb, add, f := c.flag(), c.flag(), c.flag(), c.int()
	c.needs(blocks(n, 64), blocks(m, 64), 16, 16)
	c.multiply(cuda.Product{C: to, A: a, B: b, M: m, N: n, K: k, TransA: ta, TransB: tb, AddToC: add})
	if add {
		if bias != 0 || f != 0 {
			c.fail("fake: a product that is added has no bias and no function")
		}
		return
	}
	z := span[float32](&call{device: c.device}, to, m*n, write)
	var added []float32
	if bias != 0 {
		added = span[float32](c, bias, n, read)
	}
	for i, v := range z {
		if added != nil {
			v += added[i%n]
		}
		z[i] = apply(f, v)
	}
}

// multiply is the product, summed in float64.
func (c *call) multiply(p cuda.Product) {
	x, y := span[float32](c, p.A, p.M*p.K, read), span[float32](c, p.B, p.K*p.N, read)
	z := span[float32](c, p.C, p.M*p.N, addOr(p.AddToC))
	for r := range p.M {
		for j := range p.N {
			sum := 0.0
			for i := range p.K {
				sum += float64(x[index(r, i, p.M, p.K, p.TransA)]) * float64(y[index(i, j, p.K, p.N, p.TransB)])
			}
			z[r*p.N+j] = plus(p.AddToC, z[r*p.N+j], float32(sum))
		}
	}
}

// index returns the position of element (r, c) of a matrix [rows,cols], or of the one whose
// transpose it is.
func index(r, c, rows, cols int, transposed bool) int {
	if transposed {
		return c*rows + r
	}
	return r*cols + c
}

// Multiplier implements cuda.Device.
func (d *Device) Multiplier() cuda.Multiplier {
	if !d.Multiplies {
		return nil
	}
	return multiplier{d}
}

type multiplier struct{ *Device }

// Multiply implements cuda.Multiplier.
func (m multiplier) Multiply(p cuda.Product) (err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p.M < 1 || p.N < 1 || p.K < 1 {
		return errorOf("a product of nothing:", min(p.M, p.N, p.K))
	}
	c := &call{device: m.Device, launch: &cuda.Launch{Node: "product"}}
	defer func() {
		if fault, ok := recover().(fault); ok {
			err = fault.error
		}
	}()
	c.multiply(p)
	return c.finished()
}

func sumColumns(c *call) {
	sums, x, rows, cols, scale, add := c.pointer(), c.pointer(), c.int(), c.int(), c.float(), c.flag()
	c.perRow(rows)
	from, to := span[float32](c, x, rows*cols, read), span[float32](c, sums, rows, addOr(add))
	for r := range to {
		to[r] = plus(add, to[r], scale*total(from[r*cols:(r+1)*cols]))
	}
}

func sumRows(c *call) {
	sums, x, rows, cols, scale, add := c.pointer(), c.pointer(), c.int(), c.int(), c.float(), c.flag()
	c.needs(blocks(cols, 32), 1, 32, 8)
	from, to := span[float32](c, x, rows*cols, read), span[float32](c, sums, cols, addOr(add))
	for j := range to {
		sum := 0.0
		for r := range rows {
			sum += float64(from[r*cols+j])
		}
		to[j] = plus(add, to[j], scale*float32(sum))
	}
}

func maxColumns(c *call) {
	most, x, rows, cols := c.pointer(), c.pointer(), c.int(), c.int()
	c.perRow(rows)
	from, to := span[float32](c, x, rows*cols, read), span[float32](c, most, rows, write)
	for r := range to {
		to[r] = largest(from[r*cols : (r+1)*cols])
	}
}

func softmax(c *call, log bool) {
	y, x, rows, cols := c.pointer(), c.pointer(), c.int(), c.int()
	c.perRow(rows)
	c.free = true
	from, to := span[float32](c, x, rows*cols, read), span[float32](c, y, rows*cols, write)
	for r := range rows {
		row, m := from[r*cols:(r+1)*cols], float64(largest(from[r*cols:(r+1)*cols]))
		sum := 0.0
		for _, v := range row {
			sum += math.Exp(float64(v) - m)
		}
		for j, v := range row {
			if log {
				to[r*cols+j] = float32(float64(v) - m - math.Log(sum))
			} else {
				to[r*cols+j] = float32(math.Exp(float64(v)-m) / sum)
			}
		}
	}
}

func softmaxSlope(c *call, log bool) {
	dx, dy, y, rows, cols := c.pointer(), c.pointer(), c.pointer(), c.int(), c.int()
	c.perRow(rows)
	c.free = true
	g, p, to := span[float32](c, dy, rows*cols, read), span[float32](c, y, rows*cols, read), span[float32](c, dx, rows*cols, write)
	for r := range rows {
		sum := 0.0
		for i := r * cols; i < (r+1)*cols; i++ {
			if log {
				sum += float64(g[i])
			} else {
				sum += float64(g[i]) * float64(p[i])
			}
		}
		for i := r * cols; i < (r+1)*cols; i++ {
			if log {
				to[i] = float32(float64(g[i]) - math.Exp(float64(p[i]))*sum)
			} else {
				to[i] = float32((float64(g[i]) - sum) * float64(p[i]))
			}
		}
	}
}

func largest(x []float32) float32 {
	m := float32(math.Inf(-1))
	for _, v := range x {
		m = max(m, v)
	}
	return m
}

func total(x []float32) float32 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v)
	}
	return float32(sum)
}
