package builtin

import "math"

// moments are the mean and the spread of numbers, and their range, in one pass (Welford 1962):
//
//	mean += (x - mean) / n;  squares += (x - old mean)(x - new mean)
type moments struct {
	n             int64
	mean, squares float64
	min, max      float64
}

func (m *moments) add(x float64) {
	if m.n == 0 {
		m.min, m.max = x, x
	}
	m.min, m.max = min(m.min, x), max(m.max, x)
	m.n++
	old := m.mean
	m.mean += (x - old) / float64(m.n)
	m.squares += (x - old) * (x - m.mean)
}

// scale is 1 / standard deviation; 0 if all numbers are the same, or there are none: nothing was learnt of any other, so that one
// that is met when the model is served must change nothing.
func (m *moments) scale() float64 {
	deviation := math.Sqrt(m.squares / float64(max(m.n, 1)))
	if deviation <= 1e-7*math.Abs(m.mean) || deviation < math.SmallestNonzeroFloat32 {
		return 0 // below what float32 can tell apart
	}
	return 1 / deviation
}
