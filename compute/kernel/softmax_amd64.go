package kernel

func rowwiseFast(l Level, w rowwise, y, x, z []float32, cols int) bool {
	if l == Portable {
		return false
	}
	if packable(l, cols) {
		packedFast(l, w, y, x, z, cols)
		return true
	}
	rows := len(y) / cols
	switch {
	case w == softmaxRows && l == AVX512:
		softmaxAVX512(data(y), data(x), rows, cols)
	case w == softmaxRows:
		softmaxAVX2(data(y), data(x), rows, cols)
	case w == logSoftmaxRows && l == AVX512:
		logSoftmaxAVX512(data(y), data(x), rows, cols)
	case w == logSoftmaxRows:
		logSoftmaxAVX2(data(y), data(x), rows, cols)
	case w == softmaxSlopeRows && l == AVX512:
		softmaxSlopeAVX512(data(y), data(x), data(z), rows, cols)
	case w == softmaxSlopeRows:
		softmaxSlopeAVX2(data(y), data(x), data(z), rows, cols)
	case w == logSoftmaxSlopeRows && l == AVX512:
		logSoftmaxSlopeAVX512(data(y), data(x), data(z), rows, cols)
	case w == logSoftmaxSlopeRows:
		logSoftmaxSlopeAVX2(data(y), data(x), data(z), rows, cols)
	}
	return true
}
