package kernel

// Map computes y = f(x); y may be x.
func (t *Team) Map(f Func, y, x []float32) {
	n := len(x)
	y = first("y of Map", y, n)
	if t.alone(n, grainSlow) {
		mapped(level, f, y, x)
		return
	}
	t.divide(n, grainSlow, job{do: mapPart, level: level, f: f, y: y, x: x})
}

func mapPart(j *job, from, to int) { mapped(j.level, j.f, j.y[from:to], j.x[from:to]) }

func mapped(l Level, f Func, y, x []float32) {
	if !mapFast(l, f, y, x) {
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
func (t *Team) Slope(f Func, dx, dy, v []float32) {
	n := len(dy)
	dx, v = first("dx of Slope", dx, n), first("v of Slope", v, n)
	if t.alone(n, grainFast) {
		sloped(level, f, dx, dy, v)
		return
	}
	t.divide(n, grainFast, job{do: slopePart, level: level, f: f, y: dx, x: dy, z: v})
}

func slopePart(j *job, from, to int) { sloped(j.level, j.f, j.y[from:to], j.x[from:to], j.z[from:to]) }

func sloped(l Level, f Func, dx, dy, v []float32) {
	if !slopeFast(l, f, dx, dy, v) {
		slopePortable(f, dx, dy, v)
	}
}

func slopePortable(f Func, dx, dy, v []float32) {
	for i, g := range dy {
		dx[i] = g * f.slopeOf(v[i])
	}
}
