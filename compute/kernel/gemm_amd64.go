package kernel

import "unsafe"

// Tiles follow Goto and van de Geijn (2008), Anatomy of High-Performance Matrix Multiplication: a
// tile of c stays in registers during the loop over k; tileK rows and tileCols columns of b are
// copied once, into panels as wide as a tile, and stay in the L2 cache; the rows of a for a tile
// stay in the L1 cache during the loop over all panels. Copies have the order in which they are
// read.
const (
	tileK    = 256
	tileCols = 512
)

// format is the size of an ISA's tile.
type format struct{ rows, cols int }

var formats = [...]format{AVX2: {6, 16}, AVX512: {14, 32}}

// prepare chooses the method for g, from shapes and the instruction set alone.
func (g *gemm) prepare() {
	if g.isa == Portable {
		return
	}
	if g.c.Cols == 1 && g.p.TransA && g.p.Bias == nil && (g.c.Stride == 1 || g.c.Rows == 1) {
		g.exchange()
	}
	_, _, g.dotted = g.column()
}

// fast computes a part, unless the instruction set is Portable.
func (g *gemm) fast(r0, r1, c0, c1 int) bool {
	switch {
	case g.isa == Portable:
		return false
	case g.dotted:
		g.dots(max(r0, c0), max(r1, c1))
	default:
		g.tiles(r0, r1, c0, c1)
	}
	return true
}

// exchange turns a column, as a sum over a's rows, into a row: c' = b' a, if a isn't transposed.
func (g *gemm) exchange() {
	g.c = Matrix{g.c.Data, 1, g.c.Rows, g.c.Rows}
	g.a, g.b, g.p.TransA, g.p.TransB = g.b, g.a, !g.p.TransB, false
}

// tile is the argument of a tile's assembly, in its order; steps are in bytes.
type tile struct {
	a           unsafe.Pointer
	aRow, aNext int // to the next row, and to the next k; one of them is 4
	b           unsafe.Pointer
	bNext       int
	c           unsafe.Pointer
	cRow        int
	bias        unsafe.Pointer // nil for none
	k, rows     int
	masks       unsafe.Pointer // of AVX2
	flags       int
	bits        uint32 // the valid columns, for AVX-512
}

const (
	tileAdd  = 1
	tileRelu = 2
)

// block is a running part of c, for some of k.
type block struct {
	*gemm
	r0, r1, c0, c1, k0, k1 int

	format
	copyA, copyB bool
	scratch      *buffers
}

// tiles loops over k first, then over columns, then over rows.
func (g *gemm) tiles(r0, r1, c0, c1 int) {
	b := block{gemm: g, r0: r0, r1: r1, format: formats[g.isa]}
	b.copyB = g.p.TransB || g.c.Rows > 2*b.rows
	b.copyA = g.c.Cols > 2*b.cols && (g.p.TransA || g.a.Stride%128 == 0)
	if b.copyA || b.copyB {
		s := g.pool.get()
		defer g.pool.put(s)
		b.scratch = s
	}
	kBlocks := (g.k + tileK - 1) / tileK
	for i := range kBlocks {
		b.k0, b.k1 = g.k*i/kBlocks, g.k*(i+1)/kBlocks
		for b.c0 = c0; b.c0 < c1; b.c0 = b.c1 {
			b.c1 = min(b.c0+tileCols, c1)
			b.do()
		}
	}
}

func (b *block) do() {
	t := tile{cRow: 4 * b.gemm.c.Stride, k: b.k1 - b.k0}
	if b.p.Add || b.k0 > 0 {
		t.flags |= tileAdd
	}
	last := b.k1 == b.gemm.k
	if last && b.p.Then == Relu {
		t.flags |= tileRelu
	}
	if b.copyB {
		b.packB()
	}
	for r, left := b.r0, (b.r1-b.r0+b.rows-1)/b.rows; left > 0; left-- {
		t.rows = (b.r1 - r + left - 1) / left
		b.pointA(&t, r)
		b.panels(&t, r, last)
		if last && b.p.Then != Relu {
			for i := range t.rows {
				b.then(b.row(r+i, b.c0, b.c1))
			}
		}
		r += t.rows
	}
}

// panels computes the rows of a tile in all columns.
func (b *block) panels(t *tile, r int, last bool) {
	for c := b.c0; c < b.c1; c += b.cols {
		cols := min(b.cols, b.c1-c)
		t.c = unsafe.Pointer(&b.gemm.c.Data[r*b.gemm.c.Stride+c])
		if last && b.p.Bias != nil {
			t.bias = unsafe.Pointer(&b.p.Bias[c])
		}
		if b.copyB {
			t.b, t.bNext = unsafe.Pointer(&b.scratch.b[(c-b.c0)*t.k]), 4*b.cols
		} else {
			t.b, t.bNext = unsafe.Pointer(&b.gemm.b.Data[b.k0*b.gemm.b.Stride+c]), 4*b.gemm.b.Stride
		}
		if b.isa == AVX512 {
			t.bits = 1<<cols - 1
			// A copy has complete panels.
			t.runAVX512(b.p.TransA, cols > 16, !b.copyB && cols%16 > 0)
		} else {
			t.masks = unsafe.Pointer(&maskLanes[16-cols])
			t.runAVX2(b.p.TransA, cols < 16)
		}
	}
}

// maskLanes are 16 lanes that are read and written, and 16 that are not.
var maskLanes = [32]int32{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}

func (t *tile) runAVX512(across, wide, edge bool) {
	p := (*byte)(unsafe.Pointer(t))
	switch {
	case across && wide && edge:
		tile2EdgeAcrossAVX512(p)
	case across && wide:
		tile2AcrossAVX512(p)
	case across && edge:
		tile1EdgeAcrossAVX512(p)
	case across:
		tile1AcrossAVX512(p)
	case wide && edge:
		tile2EdgeAVX512(p)
	case wide:
		tile2AVX512(p)
	case edge:
		tile1EdgeAVX512(p)
	default:
		tile1AVX512(p)
	}
}

func (t *tile) runAVX2(across, edge bool) {
	p := (*byte)(unsafe.Pointer(t))
	switch {
	case across && edge:
		tileEdgeAcrossAVX2(p)
	case across:
		tileAcrossAVX2(p)
	case edge:
		tileEdgeAVX2(p)
	default:
		tileAVX2(p)
	}
}

// pointA sets the pointers to the rows of a tile from r on, and copies them if that pays.
func (b *block) pointA(t *tile, r int) {
	at, from := r*b.a.Stride+b.k0, &b.a
	if b.p.TransA {
		at = b.k0*from.Stride + r
	}
	t.a, t.aRow, t.aNext = unsafe.Pointer(&from.Data[at]), 4*from.Stride, 4
	if b.p.TransA {
		t.aRow, t.aNext = 4, 4*from.Stride
	}
	if !b.copyA {
		return
	}
	// An odd number of cache lines from row to row, so that rows don't evict each other from the
	// cache.
	step := (t.k+line-1)/line*line | line
	b.scratch.a = grown(b.scratch.a, max(b.rows*step, line*t.k))
	t.a = unsafe.Pointer(&b.scratch.a[0])
	if b.p.TransA {
		t.aNext = 4 * line
		copyRows(b.isa, b.scratch.a, from.Data[at:], t.k, t.rows, line, from.Stride)
		return
	}
	t.aRow = 4 * step
	for i := range t.rows {
		copy(b.scratch.a[i*step:][:t.k], from.Data[at+i*from.Stride:])
	}
}

// packB copies the block of b into panels: element (k, c) of a panel is at k*cols + c.
func (b *block) packB() {
	k, from := b.k1-b.k0, &b.gemm.b
	panels := (b.c1 - b.c0 + b.cols - 1) / b.cols
	b.scratch.b = grown(b.scratch.b, panels*b.cols*k)
	for c := b.c0; c < b.c1; c += transposeRows(b.isa, b.p.TransB) {
		panel := (c - b.c0) / b.cols * b.cols
		to := b.scratch.b[panel*k+(c-b.c0-panel):]
		if b.p.TransB {
			transpose(b.isa, to, from.Data[c*from.Stride+b.k0:], b.c1-c, k, b.cols, from.Stride)
		} else {
			copyRows(b.isa, to, from.Data[b.k0*from.Stride+c:], k, min(line, b.c1-c), b.cols, from.Stride)
		}
	}
}

// transposeRows returns how many columns of a panel are copied at once.
func transposeRows(isa ISA, transposed bool) int {
	if transposed && isa == AVX2 {
		return 8
	}
	return line
}

func copyRows(isa ISA, to, from []float32, rows, n, toStep, fromStep int) {
	if isa == AVX512 {
		copyRowsAVX512(data(to), data(from), rows, n, toStep, fromStep)
	} else {
		copyRowsAVX2(data(to), data(from), rows, n, toStep, fromStep)
	}
}

func transpose(isa ISA, to, from []float32, rows, cols, toStep, fromStep int) {
	if isa == AVX512 {
		transposeAVX512(data(to), data(from), rows, cols, toStep, fromStep)
	} else {
		transposeAVX2(data(to), data(from), rows, cols, toStep, fromStep)
	}
}

// column returns the rows and the column to multiply, if g has one column and contiguous rows. The
// same holds if g has one row, with the operands exchanged.
func (g *gemm) column() (rows Matrix, x []float32, ok bool) {
	switch {
	case g.c.Cols == 1 && !g.p.TransA && (g.p.TransB || g.b.Stride == 1 || g.k == 1):
		return g.a, g.b.Data, true
	case g.c.Rows == 1 && g.p.TransB && (!g.p.TransA || g.a.Stride == 1 || g.k == 1):
		return g.b, g.a.Data, true
	}
	return Matrix{}, nil, false
}

// dots computes elements of a column or row, several at a time.
func (g *gemm) dots(from, to int) {
	rows, x, _ := g.column()
	var sums [64]float32
	for at := from; at < to; at += len(sums) {
		some := sums[:min(len(sums), to-at)]
		dots(g.isa, some, rows.Data[at*rows.Stride:], x, g.k, rows.Stride)
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

func dots(isa ISA, y, a, x []float32, n, aStep int) {
	if isa == AVX512 {
		dotsAVX512(data(y), data(a), data(x), len(y), n, aStep)
	} else {
		dotsAVX2(data(y), data(a), data(x), len(y), n, aStep)
	}
}
