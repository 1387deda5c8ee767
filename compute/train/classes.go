package train

// classMeter: accuracy is the share of rows whose largest logit is that of the largest target, the first of equal ones, as
// keras.metrics.CategoricalAccuracy has it.
type classMeter struct{ right int }

func (m *classMeter) add(z, t []float32) {
	if largest(z) == largest(t) {
		m.right++
	}
}

func largest(x []float32) int {
	best := 0
	for j := range x {
		if x[j] > x[best] {
			best = j
		}
	}
	return best
}

func (m *classMeter) metrics(rows int, into map[string]float64) {
	into["accuracy"] = float64(m.right) / float64(rows)
}
