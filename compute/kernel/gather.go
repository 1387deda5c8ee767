package kernel

import "fmt"

// Gather is y[i,:] = table[ids[i],:], with width columns. ids must be within the table: it panics
// on others.
func (t *Team) Gather(y, table []float32, ids []int, width int) {
	n := len(ids)
	y = first("y of Gather", y, n*width)
	if n == 0 || width == 0 {
		return
	}
	if t.alone(n, rowsOf(grainFast, width)) {
		gather(level, y, table, ids, width)
		return
	}
	t.divide(n, rowsOf(grainFast, width), job{do: gatherPart, level: level, y: y, x: table, ids: ids, cols: width})
}

func gatherPart(j *job, from, to int) {
	gather(j.level, j.y[from*j.cols:to*j.cols], j.x, j.ids[from:to], j.cols)
}

func gather(l Level, y, table []float32, ids []int, width int) {
	rows := len(table) / width
	if bad, ok := gatherFast(l, y, table, ids, width, rows); ok {
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

// inside panics where bad, which assembly found, is the place of an id that is outside of a table.
func inside(ids []int, bad, rows int) {
	if bad >= 0 {
		outside(ids[bad], rows)
	}
}

func outside(id, rows int) {
	panic(fmt.Sprintf("kernel: id %d is not in a table of %d rows", id, rows))
}

// ScatterAdd is table[ids[i],:] += y[i,:] in the order of i, so that ids may repeat. It panics on
// ids outside of the table.
func (t *Team) ScatterAdd(table, y []float32, ids []int, width int) {
	n := len(ids)
	y = first("y of ScatterAdd", y, n*width)
	if n == 0 || width == 0 {
		return
	}
	if t.alone(width, max(lanes, rowsOf(grainFast, n))) {
		scatterAdd(level, table, y, ids, width, 0, width)
		return
	}
	t.divide(width, max(lanes, rowsOf(grainFast, n)), job{do: scatterPart, level: level, y: table, x: y, ids: ids, cols: width})
}

func scatterPart(j *job, from, to int) { scatterAdd(j.level, j.y, j.x, j.ids, j.cols, from, to) }

// scatterAdd does the columns from..to.
func scatterAdd(l Level, table, y []float32, ids []int, width, from, to int) {
	rows := len(table) / width
	if bad, ok := scatterFast(l, table, y, ids, width, from, to, rows); ok {
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
