package kernel

// Map computes y = f(x); y may be x.
func (t *ThreadPool) Map(f Func, y, x []float32) {
	n := len(x)
	y = first("y of Map", y, n)
	if t.alone(n, grainSlow) {
		mapped(currentISA, f, y, x)
		return
	}
	t.divide(n, grainSlow, task{do: mapPart, isa: currentISA, f: f, y: y, x: x})
}

func mapPart(t *task, from, to int) { mapped(t.isa, t.f, t.y[from:to], t.x[from:to]) }

func mapped(isa ISA, f Func, y, x []float32) {
	if !mapFast(isa, f, y, x) {
		mapPortable(f, y, x)
	}
}

func mapPortable(f Func, y, x []float32) {
	for i, xi := range x {
		y[i] = f.Of(xi)
	}
}

// Slope computes dx = dy f'(x), for Relu, Sigmoid and Tanh from y = f(x), for Softplus and Abs from
// x: v is that y or x. dx may be dy or v.
func (t *ThreadPool) Slope(f Func, dx, dy, v []float32) {
	n := len(dy)
	dx, v = first("dx of Slope", dx, n), first("v of Slope", v, n)
	if t.alone(n, grainFast) {
		sloped(currentISA, f, dx, dy, v)
		return
	}
	t.divide(n, grainFast, task{do: slopePart, isa: currentISA, f: f, y: dx, x: dy, z: v})
}

func slopePart(t *task, from, to int) { sloped(t.isa, t.f, t.y[from:to], t.x[from:to], t.z[from:to]) }

func sloped(isa ISA, f Func, dx, dy, v []float32) {
	if !slopeFast(isa, f, dx, dy, v) {
		slopePortable(f, dx, dy, v)
	}
}

func slopePortable(f Func, dx, dy, v []float32) {
	for i, g := range dy {
		dx[i] = g * f.slopeOf(v[i])
	}
}
