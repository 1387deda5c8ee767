package kernel

// The functions on tables return the index of the first id that is outside, or -1.

func gatherFast(l Level, y, table []float32, ids []int, width, rows int) (bad int, ok bool) {
	switch l {
	case AVX512:
		return gatherAVX512(data(y), data(table), data(ids), len(ids), width, rows), true
	case AVX2:
		return gatherAVX2(data(y), data(table), data(ids), len(ids), width, rows), true
	}
	return 0, false
}

func scatterFast(l Level, table, y []float32, ids []int, width, from, to, rows int) (bad int, ok bool) {
	if rows == 0 || len(ids) == 0 {
		return 0, false
	}
	switch l {
	case AVX512:
		return scatterAddAVX512(&table[from], &y[from], data(ids), len(ids), to-from, width, rows), true
	case AVX2:
		return scatterAddAVX2(&table[from], &y[from], data(ids), len(ids), to-from, width, rows), true
	}
	return 0, false
}

func sparseFast(l Level, y, values []float32, ids []int, w []float32, places, width, rows int) (bad int, ok bool) {
	if places == 0 {
		return 0, false
	}
	switch l {
	case AVX512:
		return sparseGemmAVX512(data(y), data(values), data(ids), data(w), len(y)/width, places, width, rows), true
	case AVX2:
		return sparseGemmAVX2(data(y), data(values), data(ids), data(w), len(y)/width, places, width, rows), true
	}
	return 0, false
}

func sparseSlopeFast(l Level, dw, values []float32, ids []int, dy []float32, places, width, from, to, rows int) (bad int, ok bool) {
	if rows == 0 || places == 0 {
		return 0, false
	}
	n := len(dy) / width
	switch l {
	case AVX512:
		return sparseGemmSlopeAVX512(&dw[from], data(values), data(ids), &dy[from], n, places, to-from, width, rows), true
	case AVX2:
		return sparseGemmSlopeAVX2(&dw[from], data(values), data(ids), &dy[from], n, places, to-from, width, rows), true
	}
	return 0, false
}
