package kernel

// column is, where g has one column and the rows that are multiplied with it lie side by side:
// these rows and that column. So it is where g has one row, with the operands in each other's
// place.
func (g *gemm) column() (rows Matrix, x []float32, ok bool) {
	switch {
	case g.c.Cols == 1 && !g.p.TransA && (g.p.TransB || g.b.Stride == 1 || g.k == 1):
		return g.a, g.b.Data, true
	case g.c.Rows == 1 && g.p.TransB && (!g.p.TransA || g.a.Stride == 1 || g.k == 1):
		return g.b, g.a.Data, true
	}
	return Matrix{}, nil, false
}

// dots does elements of a column or row, some at a time.
func (g *gemm) dots(from, to int) {
	rows, x, _ := g.column()
	var sums [64]float32
	for at := from; at < to; at += len(sums) {
		some := sums[:min(len(sums), to-at)]
		dots(g.level, some, rows.Data[at*rows.Stride:], x, g.k, rows.Stride)
		for i, sum := range some {
			g.writeDot(at+i, sum)
		}
	}
	g.thenDots(from, to)
}

func (g *gemm) writeDot(i int, sum float32) {
	at, column := i, i
	if g.c.Cols == 1 {
		at, column = i*g.c.Stride, 0
	}
	switch {
	case g.p.Add:
		g.c.Data[at] += sum
	case g.p.Bias != nil:
		g.c.Data[at] = sum + g.p.Bias[column]
	default:
		g.c.Data[at] = sum
	}
}

func (g *gemm) thenDots(from, to int) {
	if g.c.Rows == 1 || g.c.Stride == 1 {
		g.then(g.c.Data[from:to])
		return
	}
	for r := from; r < to; r++ {
		g.then(g.row(r, 0, 1))
	}
}

func dots(l Level, y, a, x []float32, n, aStep int) {
	if l == AVX512 {
		dotsAVX512(data(y), data(a), data(x), len(y), n, aStep)
	} else {
		dotsAVX2(data(y), data(a), data(x), len(y), n, aStep)
	}
}
