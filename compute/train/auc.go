package train

import "math"

// thresholds of a ROC curve, as many as Keras has by default.
const thresholds = 200

// binaryMeter: accuracy is the share of outputs on the right side of 0.5, where 0.5 itself is no, as in Keras. auc is the
// area below the ROC curve as Keras has it: at 200 thresholds, evenly spaced over [0,1] with the outer ones just outside,
// joined by straight lines (keras.metrics.AUC, summation_method interpolation).
type binaryMeter struct {
	right, outputs int
	positives      [thresholds]float64 // by the highest threshold that the probability is above
	negatives      [thresholds]float64
}

func (m *binaryMeter) add(z, t []float32) {
	for j := range z {
		yes := t[j] > 0.5
		if z[j] > 0 == yes {
			m.right++
		}
		b := bucket(1 / (1 + math.Exp(-float64(z[j]))))
		m.positives[b] += float64(t[j])
		m.negatives[b] += 1 - float64(t[j])
	}
	m.outputs += len(z)
}

// bucket is the last threshold below p: threshold i is i/199, so p above i/199 up to (i+1)/199 is in i.
func bucket(p float64) int {
	return min(max(int(math.Ceil(p*(thresholds-1)))-1, 0), thresholds-1)
}

func (m *binaryMeter) metrics(_ int, into map[string]float64) {
	into["accuracy"] = float64(m.right) / float64(m.outputs)
	into["auc"] = m.auc()
}

// auc adds up trapezoids between the points (false positives, true positives) of neighbouring thresholds, from the highest
// threshold, where both are 0, down.
func (m *binaryMeter) auc() float64 {
	allPositives, allNegatives := sum(m.positives[:]), sum(m.negatives[:])
	if allPositives == 0 || allNegatives == 0 {
		return 0 // as Keras: there is no curve
	}
	area, positives := 0.0, 0.0
	for b := thresholds - 1; b >= 0; b-- {
		before := positives
		positives += m.positives[b]
		area += m.negatives[b] * (before + positives) / 2
	}
	return area / (allPositives * allNegatives)
}

func sum(x []float64) (s float64) {
	for _, v := range x {
		s += v
	}
	return s
}
