package fake

import "math"

// sumParts writes as many partial sums as there are blocks; how the numbers are divided is up to
// the kernel.
func sumParts(c *call) {
	parts, x, n, squares := c.pointer(), c.pointer(), c.int(), c.flag()
	c.needs(c.launch.Grid.X, 1, 256, 1)
	from, to := span[float32](c, x, n, read), span[float64](c, parts, c.launch.Grid.X, write)
	clear(to)
	for i, v := range from {
		if squares {
			to[i%len(to)] += float64(v) * float64(v)
		} else {
			to[i%len(to)] += float64(v)
		}
	}
}

func sumFinish(c *call) {
	sum, parts, count, scale, add := c.pointer(), c.pointer(), c.int(), c.float(), c.flag()
	c.needs(1, 1, 256, 1)
	from, to := span[float64](c, parts, count, read), span[float32](c, sum, 1, addOr(add))
	to[0] = plus(add, to[0], scale*float32(totalOf(from)))
}

func normFinish(c *call) {
	norm, parts, count := c.pointer(), c.pointer(), c.int()
	c.needs(1, 1, 256, 1)
	span[float64](c, norm, 1, write)[0] = math.Sqrt(totalOf(span[float64](c, parts, count, read)))
}

func totalOf(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum
}

func finish(c *call) {
	result, loss, status := c.pointer(), c.pointer(), c.pointer()
	c.needs(1, 1, 1, 1)
	to := span[uint32](c, result, 2, write)
	to[0] = span[uint32](c, loss, 1, read)[0]
	to[1] = span[uint32](c, status, 1, read)[0]
}

func clipValue(c *call) {
	grads, n, bound := c.pointer(), c.int(), c.float()
	c.perElement(n)
	g := span[float32](c, grads, n, read|write)
	for i, v := range g {
		g[i] = max(min(v, bound), -bound)
	}
}

func clipNorm(c *call) {
	grads, n, norm, bound := c.pointer(), c.int(), c.pointer(), c.float()
	c.perElement(n)
	g, by := span[float32](c, grads, n, read|write), span[float64](c, norm, 1, read)[0]
	for i := range g {
		switch {
		case math.IsNaN(by), math.IsInf(by, 0):
			g[i] = float32(math.NaN())
		case by > float64(bound):
			g[i] *= float32(float64(bound) / by)
		}
	}
}
