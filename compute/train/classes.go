package train

// classMeter: accuracy is the share of rows whose largest logit is that of the largest target, the
// first of equal ones, as keras.metrics.CategoricalAccuracy has it.
type classMeter struct {
	right, weight float64
	confusion     *Confusion // nil: too many classes
}

func (m *classMeter) add(z, t []float32, weight float64) {
	is, said := largest(t), largest(z)
	if is == said {
		m.right += weight
	}
	m.weight += weight
	m.confusion.add(is, said, weight)
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

func (m *classMeter) metrics(into map[string]float64) {
	into["accuracy"] = share(m.right, m.weight)
}
