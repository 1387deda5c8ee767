package kernel

// Combine computes z = f(x, y), or f(y, x) if swapped, with x and z [rows, cols] and y of the
// shape; z may be x, and y if that is Full.
func (t *ThreadPool) Combine(f Binary, z, x, y []float32, shape Shape, rows, cols int, swapped bool) {
	n := rows * cols
	if n == 0 {
		return
	}
	shape = shape.of(rows, cols)
	z, x = first("z of Combine", z, n), first("x of Combine", x, n)
	y = first("y of Combine", y, shape.len(rows, cols))
	if shape == Full || shape == Scalar {
		rows, cols = 1, n
	}
	if t.alone(n, grainFast) {
		combine(currentISA, f, z, x, y, shape, rows, cols, swapped)
		return
	}
	work := task{do: combineElements, isa: currentISA, binary: f, z: z, x: x, y: y, shape: shape, rows: rows, cols: cols, swapped: swapped}
	if rows == 1 {
		t.divide(n, grainFast, work)
		return
	}
	work.do = combineRows
	t.divide(rows, rowsOf(grainFast, cols), work)
}

func combineElements(t *task, from, to int) {
	y := t.y
	if t.shape == Full {
		y = y[from:to]
	}
	combine(t.isa, t.binary, t.z[from:to], t.x[from:to], y, t.shape, 1, to-from, t.swapped)
}

func combineRows(t *task, from, to int) {
	y := t.y
	if t.shape == Column {
		y = y[from:to]
	}
	combine(t.isa, t.binary, t.z[from*t.cols:to*t.cols], t.x[from*t.cols:to*t.cols], y, t.shape, to-from, t.cols, t.swapped)
}

func combine(isa ISA, f Binary, z, x, y []float32, shape Shape, rows, cols int, swapped bool) {
	if !combineFast(isa, f, z, x, y, shape, rows, cols, swapped) {
		combinePortable(f, z, x, y, shape, rows, cols, swapped)
	}
}

func combinePortable(f Binary, z, x, y []float32, shape Shape, rows, cols int, swapped bool) {
	for r := range rows {
		zr, xr := z[r*cols:(r+1)*cols], x[r*cols:(r+1)*cols]
		switch shape {
		case Full, Row:
			combineFull(f, zr, xr, y[:cols], swapped)
		case Column:
			combineScalar(f, zr, xr, y[r], swapped)
		case Scalar:
			combineScalar(f, zr, xr, y[0], swapped)
		}
	}
}

// combineFull has separate loops for frequent functions.
func combineFull(f Binary, z, x, y []float32, swapped bool) {
	z, y = z[:len(x)], y[:len(x)]
	if swapped {
		x, y = y, x
	}
	switch f {
	case Add:
		for i, xi := range x {
			z[i] = xi + y[i]
		}
	case Sub:
		for i, xi := range x {
			z[i] = xi - y[i]
		}
	case Mul:
		for i, xi := range x {
			z[i] = xi * y[i]
		}
	case Div:
		for i, xi := range x {
			z[i] = xi / y[i]
		}
	default:
		for i, xi := range x {
			z[i] = f.Of(xi, y[i])
		}
	}
}

func combineScalar(f Binary, z, x []float32, y float32, swapped bool) {
	z = z[:len(x)]
	switch {
	case f == Add:
		for i, xi := range x {
			z[i] = xi + y
		}
	case f == Mul:
		for i, xi := range x {
			z[i] = xi * y
		}
	case swapped:
		for i, xi := range x {
			z[i] = f.Of(y, xi)
		}
	default:
		for i, xi := range x {
			z[i] = f.Of(xi, y)
		}
	}
}
