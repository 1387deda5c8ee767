package train

import "math"

// thresholds of a ROC curve, as many as TensorFlow Model Analysis has. Keras has 200 unless it is told otherwise, and so another
// number, by some 1e-4.
const thresholds = 10000

// slack is what TensorFlow Model Analysis moves thresholds up by.
const slack = 1e-7

// rocCurve counts yeses and noes by the highest threshold that their probability is above. Thresholds are evenly spaced over
// [0,1], the outer ones just outside.
type rocCurve struct{ positives, negatives [thresholds]float64 }

// add takes a probability and its target, 1 or 0.
func (c *rocCurve) add(p, target float64) {
	b := bucket(p)
	c.positives[b] += target
	c.negatives[b] += 1 - target
}

// bucket is the last threshold below p, which is rounded down to a multiple of 1/10000 first: TensorFlow Model Analysis counts
// probabilities so, and then looks for thresholds (metrics/calibration_histogram.py). Threshold i is i/9999.
func bucket(p float64) int {
	down := math.Floor(p*thresholds) / thresholds
	return max(int((down-slack)*(thresholds-1)), 0)
}

// area is that below the curve of points (false positives, true positives) of neighbouring thresholds, joined by straight
// lines: trapezoids from the highest threshold, where both are 0, down. 0 if there are only yeses, or only noes.
func (c *rocCurve) area() float64 {
	allPositives, allNegatives := sum(c.positives[:]), sum(c.negatives[:])
	area, positives := 0.0, 0.0
	for b := thresholds - 1; b >= 0; b-- {
		before := positives
		positives += c.positives[b]
		area += c.negatives[b] * (before + positives) / 2
	}
	return share(area, allPositives*allNegatives)
}

func sum(x []float64) (s float64) {
	for _, v := range x {
		s += v
	}
	return s
}
