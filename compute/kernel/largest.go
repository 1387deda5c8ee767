package kernel

// MaxColumns is the largest of each row; NaN if there is one. where, if not nil, takes its column,
// the first of equal ones. A row has at least one column.
func (t *Team) MaxColumns(largest []float32, where []int, x []float32, rows, cols int) {
	largest, x = first("largest of MaxColumns", largest, rows), first("x of MaxColumns", x, rows*cols)
	if where != nil {
		where = first("where of MaxColumns", where, rows)
	}
	grain := rowsOf(grainSlow, cols)
	if t.alone(rows, grain) {
		maxColumns(largest, where, x, cols)
		return
	}
	t.divide(rows, grain, job{do: maxColumnsPart, y: largest, ids: where, x: x, cols: cols})
}

func maxColumnsPart(j *job, from, to int) {
	where := j.ids
	if where != nil {
		where = where[from:to]
	}
	maxColumns(j.y[from:to], where, j.x[from*j.cols:to*j.cols], j.cols)
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
