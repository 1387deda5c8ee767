package train

import "math"

// binaryMeter measures probabilities against yes or no. An output says yes when its probability is above 0.5; 0.5 itself is no.
//
//	accuracy  = right / outputs
//	precision = right yeses / all that the model says
//	recall    = right yeses / all that there are
//
// Where there is nothing to divide by, precision and recall are 0, as in Keras. auc is in auc.go.
type binaryMeter struct {
	right, outputs          int
	rightYes, said, thereIs float64
	curve                   rocCurve
}

func (m *binaryMeter) add(z, t []float32) {
	for j := range z {
		p := float64(probability(z[j]))
		yes, said := t[j] > 0.5, p > 0.5
		if yes == said {
			m.right++
		}
		if said {
			m.said++
		}
		if yes {
			m.thereIs++
		}
		if yes && said {
			m.rightYes++
		}
		m.curve.add(p, float64(t[j]))
	}
	m.outputs += len(z)
}

// probability is the sigmoid of a logit, as it is served: in float32.
func probability(z float32) float32 {
	return float32(1 / (1 + math.Exp(-float64(z))))
}

func (m *binaryMeter) metrics(_ int, into map[string]float64) {
	into["accuracy"] = float64(m.right) / float64(m.outputs)
	into["precision"] = share(m.rightYes, m.said)
	into["recall"] = share(m.rightYes, m.thereIs)
	into["auc"] = m.curve.area()
}

// share is part/whole, 0 of nothing.
func share(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return part / whole
}
