package kernel

import "fmt"

// Gather is y[i,:] = table[ids[i],:], with width columns. ids must be within the table: it panics on others.
func (t *Team) Gather(y, table []float32, ids []int, width int) {
	n := len(ids)
	y = first("y of Gather", y, n*width)
	if n == 0 || width == 0 {
		return
	}
	if t.alone(n, rowsOf(grainFast, width)) {
		gather(y, table, ids, width)
		return
	}
	t.divide(n, rowsOf(grainFast, width), job{do: gatherPart, y: y, x: table, ids: ids, cols: width})
}

func gatherPart(j *job, from, to int) {
	gather(j.y[from*j.cols:to*j.cols], j.x, j.ids[from:to], j.cols)
}

func gather(y, table []float32, ids []int, width int) {
	rows := len(table) / width
	for i, id := range ids {
		if uint(id) >= uint(rows) {
			outside(id, rows)
		}
		copy(y[i*width:(i+1)*width], table[id*width:])
	}
}

func outside(id, rows int) {
	panic(fmt.Sprintf("kernel: id %d is not in a table of %d rows", id, rows))
}

// ScatterAdd is table[ids[i],:] += y[i,:] in the order of i, so that ids may repeat. It panics on ids outside of the table.
func (t *Team) ScatterAdd(table, y []float32, ids []int, width int) {
	n := len(ids)
	y = first("y of ScatterAdd", y, n*width)
	if n == 0 || width == 0 {
		return
	}
	if t.alone(width, max(lanes, rowsOf(grainFast, n))) {
		scatterAdd(table, y, ids, width, 0, width)
		return
	}
	t.divide(width, max(lanes, rowsOf(grainFast, n)), job{do: scatterPart, y: table, x: y, ids: ids, cols: width})
}

func scatterPart(j *job, from, to int) { scatterAdd(j.y, j.x, j.ids, j.cols, from, to) }

// scatterAdd does the columns from..to.
func scatterAdd(table, y []float32, ids []int, width, from, to int) {
	rows := len(table) / width
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
