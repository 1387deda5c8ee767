package train

import "math"

// The area below the ROC curve is approximated on evenly spaced thresholds, by two rules that
// differ by some 1e-4: auc is what TensorFlow Model Analysis finds for the exported model,
// keras_auc is keras.metrics.AUC() as it stands.
const (
	analysisThresholds = 10000
	kerasThresholds    = 200
)

// rocCurve counts yeses and noes by the highest threshold that their probability is above:
// positives[i] are those above threshold i and not above i+1. Threshold i is i/(n-1), but for the
// outer ones, which lie just outside of [0,1].
type rocCurve struct {
	bucket               func(p float32) int
	positives, negatives []float64
}

func newROCCurve(thresholds int, bucket func(p float32) int) *rocCurve {
	return &rocCurve{bucket, make([]float64, thresholds), make([]float64, thresholds)}
}

// add takes a probability and its target, 1 or 0.
func (c *rocCurve) add(p float32, target, weight float64) {
	b := c.bucket(p)
	c.positives[b] += weight * target
	c.negatives[b] += weight * (1 - target)
}

// slack is what TensorFlow Model Analysis moves thresholds up by.
const slack = 1e-7

// analysisBucket is the last threshold below p, which is rounded down to a multiple of 1/10000
// first: TensorFlow Model Analysis counts probabilities so, and then looks for thresholds
// (metrics/calibration_histogram.py).
func analysisBucket(p float32) int {
	down := math.Floor(float64(p)*analysisThresholds) / analysisThresholds
	return max(int((down-slack)*(analysisThresholds-1)), 0)
}

// kerasBucket is max(ceil(199 p) - 1, 0), the product in float32
// (keras/src/metrics/metrics_utils.py): where it rounds to a whole number, p is taken for the
// threshold itself, and is not above it.
func kerasBucket(p float32) int {
	return max(int(math.Ceil(float64(p*(kerasThresholds-1))))-1, 0)
}

// area is that below the curve of points (false positives, true positives) of neighbouring
// thresholds, joined by straight lines, Keras's summation method "interpolation": trapezoids from
// the highest threshold, where both are 0, down. 0 if there are only yeses, or only noes.
func (c *rocCurve) area() float64 {
	allPositives, allNegatives := sum(c.positives), sum(c.negatives)
	area, positives := 0.0, 0.0
	for b := len(c.positives) - 1; b >= 0; b-- {
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
