package kernel

import "math"

// Softmax computes y[r,j] = exp(x[r,j] - m) / sum_k exp(x[r,k] - m), m the maximum of the row. y
// may be x. A row with NaN or +Inf, or with only -Inf, becomes NaN. Sums have the order of
// SumColumns, here and below.
func (t *ThreadPool) Softmax(y, x []float32, rows, cols int) {
	t.byRows(softmaxRows, y, x, nil, rows, cols)
}

// LogSoftmax computes y[r,j] = x[r,j] - m - log sum_k exp(x[r,k] - m): finite where Softmax
// underflows. y may be x.
func (t *ThreadPool) LogSoftmax(y, x []float32, rows, cols int) {
	t.byRows(logSoftmaxRows, y, x, nil, rows, cols)
}

// SoftmaxSlope computes dx[j] = (dy[j] - sum_k dy[k] y[k]) y[j] by rows, y = softmax(x). dx may be
// dy or y.
func (t *ThreadPool) SoftmaxSlope(dx, dy, y []float32, rows, cols int) {
	t.byRows(softmaxSlopeRows, dx, dy, first("y of SoftmaxSlope", y, rows*cols), rows, cols)
}

// LogSoftmaxSlope computes dx[j] = dy[j] - exp(y[j]) sum_k dy[k] by rows, y = logsoftmax(x). dx may
// be dy or y.
func (t *ThreadPool) LogSoftmaxSlope(dx, dy, y []float32, rows, cols int) {
	t.byRows(logSoftmaxSlopeRows, dx, dy, first("y of LogSoftmaxSlope", y, rows*cols), rows, cols)
}

// rowwise is a function of each row of y, x and z.
type rowwise int

const (
	softmaxRows rowwise = iota
	logSoftmaxRows
	softmaxSlopeRows
	logSoftmaxSlopeRows
)

func (t *ThreadPool) byRows(what rowwise, y, x, z []float32, rows, cols int) {
	n := rows * cols
	y, x = first("the result of a softmax", y, n), first("x or dy of a softmax", x, n)
	if n == 0 {
		return
	}
	grain := rowsOf(grainSlow, cols)
	if t.alone(rows, grain) {
		what.do(currentISA, y, x, z, cols)
		return
	}
	t.divide(rows, grain, task{do: byRowsPart, isa: currentISA, rowwise: what, y: y, x: x, z: z, cols: cols})
}

func byRowsPart(t *task, from, to int) {
	from, to = from*t.cols, to*t.cols
	z := t.z
	if z != nil {
		z = z[from:to]
	}
	t.rowwise.do(t.isa, t.y[from:to], t.x[from:to], z, t.cols)
}

func (w rowwise) do(isa ISA, y, x, z []float32, cols int) {
	if !rowwiseFast(isa, w, y, x, z, cols) {
		w.portable(y, x, z, cols)
	}
}

func (w rowwise) portable(y, x, z []float32, cols int) {
	for ; len(y) > 0; y, x = y[cols:], x[cols:] {
		switch w {
		case softmaxRows:
			softmaxRow(y[:cols], x[:cols])
		case logSoftmaxRows:
			logSoftmaxRow(y[:cols], x[:cols])
		case softmaxSlopeRows:
			softmaxSlopeRow(y[:cols], x[:cols], z[:cols])
		case logSoftmaxSlopeRows:
			logSoftmaxSlopeRow(y[:cols], x[:cols], z[:cols])
		}
		if z != nil {
			z = z[cols:]
		}
	}
}

func softmaxRow(y, x []float32) {
	m := largest(x)
	for i, v := range x {
		y[i] = Exp.Of(v - m)
	}
	l := lanesPortable(y)
	sum := l.tree()
	for i := range y {
		y[i] /= sum
	}
}

func largest(x []float32) float32 {
	m := x[0]
	for _, v := range x[1:] {
		m = max(m, v)
	}
	return m
}

func logSoftmaxRow(y, x []float32) {
	m := largest(x)
	var l laneSum
	for i, v := range x {
		l[i%lanes] += Exp.Of(v - m)
	}
	log := float32(math.Log(float64(l.tree())))
	for i, v := range x {
		y[i] = v - m - log
	}
}

func softmaxSlopeRow(dx, dy, y []float32) {
	var l laneSum
	for i, g := range dy {
		l[i%lanes] += g * y[i]
	}
	dot := l.tree()
	for i, g := range dy {
		dx[i] = (g - dot) * y[i]
	}
}

func logSoftmaxSlopeRow(dx, dy, y []float32) {
	l := lanesPortable(dy)
	sum := l.tree()
	for i, g := range dy {
		dx[i] = g - Exp.Of(y[i])*sum
	}
}
