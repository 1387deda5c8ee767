package train

import "math"

// numberMeter: mae is the mean of |z-t|, rmse the root of the mean of (z-t)^2, over all rows and
// outputs.
type numberMeter struct{ absolute, squared, outputs float64 }

func (m *numberMeter) add(z, t []float32, weight float64) {
	for j := range z {
		d := float64(z[j] - t[j])
		m.absolute += weight * math.Abs(d)
		m.squared += weight * d * d
		m.outputs += weight
	}
}

func (m *numberMeter) metrics(into map[string]float64) {
	into["mae"] = share(m.absolute, m.outputs)
	into["rmse"] = math.Sqrt(share(m.squared, m.outputs))
}
