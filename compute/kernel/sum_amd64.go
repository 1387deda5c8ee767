package kernel

func sumRowsFast(l Level, sums, x []float32, rows, stride int) bool {
	switch l {
	case AVX512:
		sumRowsAVX512(data(sums), data(x), rows, len(sums), stride)
	case AVX2:
		sumRowsAVX2(data(sums), data(x), rows, len(sums), stride)
	default:
		return false
	}
	return true
}

func sumColumnsFast(l Level, sums, x []float32, cols int) bool {
	switch l {
	case AVX512:
		sumColumnsAVX512(data(sums), data(x), len(sums), cols)
	case AVX2:
		sumColumnsAVX2(data(sums), data(x), len(sums), cols)
	default:
		return false
	}
	return true
}

func laneSumsFast(l Level, sums *laneSum, x []float32) bool {
	switch l {
	case AVX512:
		laneSumsAVX512(&sums[0], data(x), len(x))
	case AVX2:
		laneSumsAVX2(&sums[0], data(x), len(x))
	default:
		return false
	}
	return true
}

func squareSumsFast(l Level, sums *[lanes]float64, x []float32) bool {
	switch l {
	case AVX512:
		squareSumsAVX512(&sums[0], data(x), len(x))
	case AVX2:
		squareSumsAVX2(&sums[0], data(x), len(x))
	default:
		return false
	}
	return true
}
