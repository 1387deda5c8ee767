package kernel

import "unsafe"

// pointA says where the rows of a tile from r on are, and copies them where that pays.
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
	// An odd number of lines from row to row: so rows don't take each other's places in the cache.
	step := (t.k+line-1)/line*line | line
	b.scratch.a = grown(b.scratch.a, max(b.rows*step, line*t.k))
	t.a = unsafe.Pointer(&b.scratch.a[0])
	if b.p.TransA {
		t.aNext = 4 * line
		copyRows(b.level, b.scratch.a, from.Data[at:], t.k, t.rows, line, from.Stride)
		return
	}
	t.aRow = 4 * step
	for i := range t.rows {
		copy(b.scratch.a[i*step:][:t.k], from.Data[at+i*from.Stride:])
	}
}

// packB copies the block of b into panels: element (k, c) of a panel lies at k*cols + c.
func (b *block) packB() {
	k, from := b.k1-b.k0, &b.gemm.b
	panels := (b.c1 - b.c0 + b.cols - 1) / b.cols
	b.scratch.b = grown(b.scratch.b, panels*b.cols*k)
	for c := b.c0; c < b.c1; c += transposeRows(b.level, b.p.TransB) {
		panel := (c - b.c0) / b.cols * b.cols
		to := b.scratch.b[panel*k+(c-b.c0-panel):]
		if b.p.TransB {
			transpose(b.level, to, from.Data[c*from.Stride+b.k0:], b.c1-c, k, b.cols, from.Stride)
		} else {
			copyRows(b.level, to, from.Data[b.k0*from.Stride+c:], k, min(line, b.c1-c), b.cols, from.Stride)
		}
	}
}

// transposeRows is how many columns of a panel are copied at once.
func transposeRows(l Level, transposed bool) int {
	if transposed && l == AVX2 {
		return 8
	}
	return line
}

func copyRows(l Level, to, from []float32, rows, n, toStep, fromStep int) {
	if l == AVX512 {
		copyRowsAVX512(data(to), data(from), rows, n, toStep, fromStep)
	} else {
		copyRowsAVX2(data(to), data(from), rows, n, toStep, fromStep)
	}
}

func transpose(l Level, to, from []float32, rows, cols, toStep, fromStep int) {
	if l == AVX512 {
		transposeAVX512(data(to), data(from), rows, cols, toStep, fromStep)
	} else {
		transposeAVX2(data(to), data(from), rows, cols, toStep, fromStep)
	}
}
