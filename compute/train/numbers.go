package train

import "math"

// numberMeter: mae is the mean of |z-t|, rmse the root of the mean of (z-t)^2, over all rows and outputs.
type numberMeter struct {
	absolute, squared float64
	outputs           int
}

func (m *numberMeter) add(z, t []float32) {
	for j := range z {
		d := float64(z[j] - t[j])
		m.absolute += math.Abs(d)
		m.squared += d * d
	}
	m.outputs += len(z)
}

func (m *numberMeter) metrics(_ int, into map[string]float64) {
	into["mae"] = m.absolute / float64(m.outputs)
	into["rmse"] = math.Sqrt(m.squared / float64(m.outputs))
}
