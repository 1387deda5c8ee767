package kernel

import "math"

// Softmax is y[r,j] = exp(x[r,j] - m) / sum_k exp(x[r,k] - m), m the largest of the row. y may be x. A row of NaN, of +Inf or of
// nothing but -Inf becomes NaN.
func (t *Team) Softmax(y, x []float32, rows, cols int) {
	t.byRows(softmaxPart, y, x, nil, rows, cols)
}

// LogSoftmax is y[r,j] = x[r,j] - m - log sum_k exp(x[r,k] - m): finite where Softmax underflows. y may be x.
func (t *Team) LogSoftmax(y, x []float32, rows, cols int) {
	t.byRows(logSoftmaxPart, y, x, nil, rows, cols)
}

// SoftmaxSlope is dx[j] = (dy[j] - sum_k dy[k] y[k]) y[j] by rows, y = softmax(x). dx may be dy or y.
func (t *Team) SoftmaxSlope(dx, dy, y []float32, rows, cols int) {
	t.byRows(softmaxSlopePart, dx, dy, first("y of a slope", y, rows*cols), rows, cols)
}

// LogSoftmaxSlope is dx[j] = dy[j] - exp(y[j]) sum_k dy[k] by rows, y = logsoftmax(x). dx may be dy or y.
func (t *Team) LogSoftmaxSlope(dx, dy, y []float32, rows, cols int) {
	t.byRows(logSoftmaxSlopePart, dx, dy, first("y of a slope", y, rows*cols), rows, cols)
}

// byRows does what each row of y, x and z has for itself.
func (t *Team) byRows(do func(j *job, from, to int), y, x, z []float32, rows, cols int) {
	n := rows * cols
	if n == 0 {
		return
	}
	j := job{do: do, y: first("result of a softmax", y, n), x: first("x of a softmax", x, n), z: z, cols: cols}
	t.divide(rows, rowsOf(grainSlow, cols), j)
}

func softmaxPart(j *job, from, to int) {
	for r := from; r < to; r++ {
		y, x := j.y[r*j.cols:(r+1)*j.cols], j.x[r*j.cols:(r+1)*j.cols]
		sum := expOfDistance(y, x, largest(x))
		for i := range y {
			y[i] /= sum
		}
	}
}

// expOfDistance is y = exp(x - m), and the sum of that.
func expOfDistance(y, x []float32, m float32) float32 {
	for i, v := range x {
		y[i] = Exp.Of(v - m)
	}
	l := laneSums(y)
	return l.tree()
}

func largest(x []float32) float32 {
	m := x[0]
	for _, v := range x[1:] {
		m = max(m, v)
	}
	return m
}

func logSoftmaxPart(j *job, from, to int) {
	for r := from; r < to; r++ {
		y, x := j.y[r*j.cols:(r+1)*j.cols], j.x[r*j.cols:(r+1)*j.cols]
		logSoftmaxRow(y, x)
	}
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

func softmaxSlopePart(j *job, from, to int) {
	for r := from; r < to; r++ {
		dx, dy, y := j.y[r*j.cols:(r+1)*j.cols], j.x[r*j.cols:(r+1)*j.cols], j.z[r*j.cols:(r+1)*j.cols]
		var l laneSum
		for i, g := range dy {
			l[i%lanes] += g * y[i]
		}
		dot := l.tree()
		for i, g := range dy {
			dx[i] = (g - dot) * y[i]
		}
	}
}

func logSoftmaxSlopePart(j *job, from, to int) {
	for r := from; r < to; r++ {
		dx, dy, y := j.y[r*j.cols:(r+1)*j.cols], j.x[r*j.cols:(r+1)*j.cols], j.z[r*j.cols:(r+1)*j.cols]
		l := laneSums(dy)
		sum := l.tree()
		for i, g := range dy {
			dx[i] = g - Exp.Of(y[i])*sum
		}
	}
}
