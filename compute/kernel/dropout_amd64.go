package kernel

func (m *mask) fast(l Level, part []float32) bool {
	switch l {
	case AVX512:
		dropoutAVX512(data(part), len(part), &m.counter[0], &m.key[0], m.threshold, m.kept)
	case AVX2:
		dropoutAVX2(data(part), len(part), &m.counter[0], &m.key[0], m.threshold, m.kept)
	default:
		return false
	}
	return true
}
