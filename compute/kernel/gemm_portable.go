package kernel

// In Go, four rows of c by four columns are summed at once, so that each number read is used four
// times. Operands are copied into groups of four rows of a and four columns of b, interleaved along
// k, and padded with zeros at the last rows or columns.

// fours sums along k in its order.
func (g *gemm) fours(r0, r1, c0, c1 int) {
	s := g.pool.get()
	defer g.pool.put(s)
	s.a, s.b = grown(s.a, 4*g.k), grown(s.b, 4*g.k*((c1-c0+3)/4))
	for c := c0; c < c1; c += 4 {
		group(s.b[(c-c0)*g.k:][:4*g.k], g.b, c, min(4, c1-c), !g.p.TransB)
	}
	for r := r0; r < r1; r += 4 {
		rows := min(4, r1-r)
		group(s.a[:4*g.k], g.a, r, rows, g.p.TransA)
		for c := c0; c < c1; c += 4 {
			sums := fourByFour(s.a[:4*g.k], s.b[(c-c0)*g.k:][:4*g.k])
			g.writeFours(&sums, r, rows, c, min(4, c1-c))
		}
		for i := range rows {
			g.then(g.row(r+i, c0, c1))
		}
	}
}

// group sets to[4*i+j] to element i of line at+j of m; a line is a column if columns, else a row.
// There are lines < 5 of them.
func group(to []float32, m Matrix, at, lines int, columns bool) {
	next, step := m.Stride, 1
	if columns {
		next, step = 1, m.Stride
	}
	for j := range 4 {
		if j >= lines {
			for i := j; i < len(to); i += 4 {
				to[i] = 0
			}
			continue
		}
		from := m.Data[(at+j)*next:]
		for i := range len(to) / 4 {
			to[4*i+j] = from[i*step]
		}
	}
}

// fourByFour returns sums[4*r+c] = sum_k a[4*k+r] b[4*k+c].
func fourByFour(a, b []float32) [16]float32 {
	var s00, s01, s02, s03, s10, s11, s12, s13, s20, s21, s22, s23, s30, s31, s32, s33 float32
	for len(a) >= 4 && len(b) >= 4 {
		a0, a1, a2, a3 := a[0], a[1], a[2], a[3]
		b0, b1, b2, b3 := b[0], b[1], b[2], b[3]
		s00 += a0 * b0
		s01 += a0 * b1
		s02 += a0 * b2
		s03 += a0 * b3
		s10 += a1 * b0
		s11 += a1 * b1
		s12 += a1 * b2
		s13 += a1 * b3
		s20 += a2 * b0
		s21 += a2 * b1
		s22 += a2 * b2
		s23 += a2 * b3
		s30 += a3 * b0
		s31 += a3 * b1
		s32 += a3 * b2
		s33 += a3 * b3
		a, b = a[4:], b[4:]
	}
	return [16]float32{s00, s01, s02, s03, s10, s11, s12, s13, s20, s21, s22, s23, s30, s31, s32, s33}
}

func (g *gemm) writeFours(sums *[16]float32, r, rows, c, cols int) {
	for i := range rows {
		for j, sum := range sums[4*i : 4*i+cols] {
			to := &g.c.Data[(r+i)*g.c.Stride+c+j]
			switch {
			case g.p.Add:
				*to += sum
			case g.p.Bias != nil:
				*to = sum + g.p.Bias[c+j]
			default:
				*to = sum
			}
		}
	}
}
