package train

import "math"

// binaryMeter measures probabilities against yes or no. An output says yes when its probability is
// above 0.5; 0.5 itself is no.
//
//	accuracy  = right / outputs
//	precision = right yeses / all that the model says
//	recall    = right yeses / all that there are
//
// Where there is nothing to divide by, precision and recall are 0, as in Keras. auc and keras_auc
// are in auc.go.
type binaryMeter struct {
	right, outputs          float64
	rightYes, said, thereIs float64
	analysis, keras         *rocCurve
	confusion               *Confusion // nil: there are several outputs
}

func newBinaryMeter(outputs int) *binaryMeter {
	m := &binaryMeter{analysis: newROCCurve(analysisThresholds, analysisBucket), keras: newROCCurve(kerasThresholds, kerasBucket)}
	if outputs == 1 {
		m.confusion = newConfusion(2)
	}
	return m
}

func (m *binaryMeter) add(z, t []float32, weight float64) {
	for j := range z {
		p := probability(z[j])
		yes, said := t[j] > 0.5, p > 0.5
		if yes == said {
			m.right += weight
		}
		if said {
			m.said += weight
		}
		if yes {
			m.thereIs += weight
		}
		if yes && said {
			m.rightYes += weight
		}
		m.outputs += weight
		m.analysis.add(p, float64(t[j]), weight)
		m.keras.add(p, float64(t[j]), weight)
		m.confusion.add(place(yes), place(said), weight)
	}
}

// place is that of yes or no among the classes.
func place(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// probability is the sigmoid of a logit, as it is served: in float32.
func probability(z float32) float32 {
	return float32(1 / (1 + math.Exp(-float64(z))))
}

func (m *binaryMeter) metrics(into map[string]float64) {
	into["accuracy"] = share(m.right, m.outputs)
	into["precision"] = share(m.rightYes, m.said)
	into["recall"] = share(m.rightYes, m.thereIs)
	into["auc"] = m.analysis.area()
	into["keras_auc"] = m.keras.area()
}

// share is part/whole, 0 of nothing.
func share(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return part / whole
}
