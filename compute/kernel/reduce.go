package kernel

// lanes is how many sums are computed in parallel when contiguous elements are added: element i
// goes to lane i mod 16. It is the width of the widest register, and every ISA adds in the same
// order.
const lanes = 16

// SumRows computes sums[c] = sum_r x[r,c], in the order of r, and adds it to sums if add.
func (t *ThreadPool) SumRows(sums, x []float32, rows, cols int, add bool) {
	sums, x = first("sums of SumRows", sums, cols), first("x of SumRows", x, rows*cols)
	if t.alone(cols, rowsOf(grainFast, rows)) {
		sumRows(currentISA, sums, x, rows, cols, add)
		return
	}
	t.divide(cols, rowsOf(grainFast, rows), task{do: sumRowsPart, isa: currentISA, y: sums, x: x, rows: rows, cols: cols, add: add})
}

func sumRowsPart(t *task, from, to int) {
	sumRows(t.isa, t.y[from:to], t.x[from:], t.rows, t.cols, t.add)
}

// sumRows is SumRows of the first len(sums) columns of x, whose rows are stride apart.
func sumRows(isa ISA, sums, x []float32, rows, stride int, add bool) {
	if !add {
		clear(sums)
	}
	if len(sums) > 0 && rows > 0 && !sumRowsFast(isa, sums, x, rows, stride) {
		sumRowsPortable(sums, x, rows, stride)
	}
}

func sumRowsPortable(sums, x []float32, rows, stride int) {
	for r := range rows {
		row := x[r*stride:][:len(sums)]
		for c, v := range row {
			sums[c] += v
		}
	}
}

// SumColumns computes sums[r] = sum_c x[r,c], with 16 lanes that are added as a tree.
func (t *ThreadPool) SumColumns(sums, x []float32, rows, cols int) {
	sums, x = first("sums of SumColumns", sums, rows), first("x of SumColumns", x, rows*cols)
	if t.alone(rows, rowsOf(grainFast, cols)) {
		sumColumns(currentISA, sums, x, cols)
		return
	}
	t.divide(rows, rowsOf(grainFast, cols), task{do: sumColumnsPart, isa: currentISA, y: sums, x: x, cols: cols})
}

func sumColumnsPart(t *task, from, to int) {
	sumColumns(t.isa, t.y[from:to], t.x[from*t.cols:to*t.cols], t.cols)
}

func sumColumns(isa ISA, sums, x []float32, cols int) {
	if len(sums) > 0 && !sumColumnsFast(isa, sums, x, cols) {
		sumColumnsPortable(sums, x, cols)
	}
}

func sumColumnsPortable(sums, x []float32, cols int) {
	for r := range sums {
		l := lanesPortable(x[r*cols : (r+1)*cols])
		sums[r] = l.tree()
	}
}

// Sum returns the sum of all elements, with 16 lanes that are added in float64. It runs in the
// caller's thread only, because it is limited by memory.
func (t *ThreadPool) Sum(x []float32) float32 {
	l := laneSums(currentISA, x)
	return l.total()
}

type laneSum [lanes]float32

func laneSums(isa ISA, x []float32) (sums laneSum) {
	if !laneSumsFast(isa, &sums, x) {
		sums = lanesPortable(x)
	}
	return sums
}

func lanesPortable(x []float32) (l laneSum) {
	for ; len(x) >= lanes; x = x[lanes:] {
		for i, v := range x[:lanes] {
			l[i] += v
		}
	}
	for i, v := range x {
		l[i] += v
	}
	return l
}

// tree adds the upper half of the lanes to the lower one until one is left.
func (l *laneSum) tree() float32 {
	for half := lanes / 2; half > 0; half /= 2 {
		for i := range half {
			l[i] += l[i+half]
		}
	}
	return l[0]
}

func (l *laneSum) total() float32 {
	sum := 0.0
	for _, v := range l {
		sum += float64(v)
	}
	return float32(sum)
}

// SumSquares returns the sum of all squares in float64, with 16 lanes that are added as a tree. It
// runs in the caller's thread only.
func (t *ThreadPool) SumSquares(x []float32) float64 {
	return sumSquares(currentISA, x)
}

func sumSquares(isa ISA, x []float32) float64 {
	var l [lanes]float64
	if !squareSumsFast(isa, &l, x) {
		squaresPortable(&l, x)
	}
	for half := lanes / 2; half > 0; half /= 2 {
		for i := range half {
			l[i] += l[i+half]
		}
	}
	return l[0]
}

func squaresPortable(l *[lanes]float64, x []float32) {
	for i, v := range x {
		l[i%lanes] += float64(v) * float64(v)
	}
}

// MaxColumns computes the maximum of each row; NaN if there is one. where, if not nil, gets its
// column, the first of equal ones. A row has at least one column.
func (t *ThreadPool) MaxColumns(largest []float32, where []int, x []float32, rows, cols int) {
	largest, x = first("largest of MaxColumns", largest, rows), first("x of MaxColumns", x, rows*cols)
	if where != nil {
		where = first("where of MaxColumns", where, rows)
	}
	grain := rowsOf(grainSlow, cols)
	if t.alone(rows, grain) {
		maxColumns(largest, where, x, cols)
		return
	}
	t.divide(rows, grain, task{do: maxColumnsPart, y: largest, ids: where, x: x, cols: cols})
}

func maxColumnsPart(t *task, from, to int) {
	where := t.ids
	if where != nil {
		where = where[from:to]
	}
	maxColumns(t.y[from:to], where, t.x[from*t.cols:to*t.cols], t.cols)
}

func maxColumns(largest []float32, where []int, x []float32, cols int) {
	for r := range largest {
		at := firstLargest(x[r*cols : (r+1)*cols])
		largest[r] = x[r*cols+at]
		if where != nil {
			where[r] = at
		}
	}
}

func firstLargest(x []float32) int {
	at := 0
	for i, v := range x {
		if v > x[at] {
			at = i
		}
		if v != v {
			return i
		}
	}
	return at
}
