package kernel

import "fmt"

// Gather computes y[i,:] = table[ids[i],:], with width columns. It panics if an id is outside of
// the table.
func (t *ThreadPool) Gather(y, table []float32, ids []int, width int) {
	n := len(ids)
	y = first("y of Gather", y, n*width)
	if n == 0 || width == 0 {
		return
	}
	if t.alone(n, rowsOf(grainFast, width)) {
		gather(currentISA, y, table, ids, width)
		return
	}
	t.divide(n, rowsOf(grainFast, width), task{do: gatherPart, isa: currentISA, y: y, x: table, ids: ids, cols: width})
}

func gatherPart(t *task, from, to int) {
	gather(t.isa, t.y[from*t.cols:to*t.cols], t.x, t.ids[from:to], t.cols)
}

func gather(isa ISA, y, table []float32, ids []int, width int) {
	rows := len(table) / width
	if bad, ok := gatherFast(isa, y, table, ids, width, rows); ok {
		inside(ids, bad, rows)
		return
	}
	for i, id := range ids {
		if uint(id) >= uint(rows) {
			outside(id, rows)
		}
		copy(y[i*width:(i+1)*width], table[id*width:])
	}
}

// inside panics if bad, the result of the assembly, is the index of an id outside of a table.
func inside(ids []int, bad, rows int) {
	if bad >= 0 {
		outside(ids[bad], rows)
	}
}

func outside(id, rows int) {
	panic(fmt.Sprintf("kernel: id %d is not in a table of %d rows", id, rows))
}

// ScatterAdd computes table[ids[i],:] += y[i,:] in the order of i, so that ids may repeat. It
// panics if an id is outside of the table.
func (t *ThreadPool) ScatterAdd(table, y []float32, ids []int, width int) {
	n := len(ids)
	y = first("y of ScatterAdd", y, n*width)
	if n == 0 || width == 0 {
		return
	}
	if t.alone(width, max(lanes, rowsOf(grainFast, n))) {
		scatterAdd(currentISA, table, y, ids, width, 0, width)
		return
	}
	t.divide(width, max(lanes, rowsOf(grainFast, n)), task{do: scatterPart, isa: currentISA, y: table, x: y, ids: ids, cols: width})
}

func scatterPart(t *task, from, to int) { scatterAdd(t.isa, t.y, t.x, t.ids, t.cols, from, to) }

// scatterAdd computes the columns from..to.
func scatterAdd(isa ISA, table, y []float32, ids []int, width, from, to int) {
	rows := len(table) / width
	if bad, ok := scatterFast(isa, table, y, ids, width, from, to, rows); ok {
		inside(ids, bad, rows)
		return
	}
	for i, id := range ids {
		if uint(id) >= uint(rows) {
			outside(id, rows)
		}
		row := table[id*width+from : id*width+to]
		for c, v := range y[i*width+from : i*width+to] {
			row[c] += v
		}
	}
}

// SparseGemm computes y[r,:] = sum_p values[r,p] w[ids[r,p],:] over the positions p of a row, in
// their order, w with width columns. An id below 0 is skipped; it panics on ids past the end of w.
func (t *ThreadPool) SparseGemm(y, values []float32, ids []int, w []float32, rows, places, width int) {
	y = first("y of SparseGemm", y, rows*width)
	values, ids = first("values of SparseGemm", values, rows*places), first("ids of SparseGemm", ids, rows*places)
	if rows == 0 || width == 0 {
		return
	}
	grain := rowsOf(grainFast, places*width)
	if t.alone(rows, grain) {
		sparseGemm(currentISA, y, values, ids, w, places, width)
		return
	}
	t.divide(rows, grain, task{do: sparsePart, isa: currentISA, y: y, x: values, ids: ids, z: w, places: places, cols: width})
}

func sparsePart(t *task, from, to int) {
	sparseGemm(t.isa, t.y[from*t.cols:to*t.cols], t.x[from*t.places:to*t.places], t.ids[from*t.places:to*t.places], t.z, t.places, t.cols)
}

func sparseGemm(isa ISA, y, values []float32, ids []int, w []float32, places, width int) {
	rows := len(w) / width
	if bad, ok := sparseFast(isa, y, values, ids, w, places, width, rows); ok {
		inside(ids, bad, rows)
		return
	}
	clear(y)
	for r := range len(y) / width {
		row := y[r*width : (r+1)*width]
		for p := r * places; p < (r+1)*places; p++ {
			id := ids[p]
			if id < 0 {
				continue
			}
			if id >= rows {
				outside(id, rows)
			}
			addTimes(row, values[p], w[id*width:(id+1)*width])
		}
	}
}

// addTimes computes y += a x.
func addTimes(y []float32, a float32, x []float32) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] += a * v
	}
}

// SparseGemmSlope computes dw[ids[r,p],:] += values[r,p] dy[r,:], in the order of r and p, with ids
// as in SparseGemm.
func (t *ThreadPool) SparseGemmSlope(dw, values []float32, ids []int, dy []float32, rows, places, width int) {
	dy = first("dy of SparseGemmSlope", dy, rows*width)
	values, ids = first("values of SparseGemmSlope", values, rows*places), first("ids of SparseGemmSlope", ids, rows*places)
	if rows == 0 || width == 0 {
		return
	}
	grain := max(lanes, rowsOf(grainFast, rows*places))
	if t.alone(width, grain) {
		sparseGemmSlope(currentISA, dw, values, ids, dy, places, width, 0, width)
		return
	}
	t.divide(width, grain, task{do: sparseSlopePart, isa: currentISA, y: dw, x: values, ids: ids, z: dy, places: places, cols: width})
}

func sparseSlopePart(t *task, from, to int) {
	sparseGemmSlope(t.isa, t.y, t.x, t.ids, t.z, t.places, t.cols, from, to)
}

// sparseGemmSlope computes the columns from..to.
func sparseGemmSlope(isa ISA, dw, values []float32, ids []int, dy []float32, places, width, from, to int) {
	rows := len(dw) / width
	if bad, ok := sparseSlopeFast(isa, dw, values, ids, dy, places, width, from, to, rows); ok {
		inside(ids, bad, rows)
		return
	}
	for r := range len(dy) / width {
		row := dy[r*width+from : r*width+to]
		for p := r * places; p < (r+1)*places; p++ {
			id := ids[p]
			if id < 0 {
				continue
			}
			if id >= rows {
				outside(id, rows)
			}
			addTimes(dw[id*width+from:id*width+to], values[p], row)
		}
	}
}
