package train

import (
	"fmt"
	"math"

	"github.com/stoker-ml/stoker/compute/nn"
)

// meters accumulate the metrics of an evaluation, batch by batch.
type meters struct {
	model    *nn.Model
	rows     int
	weighted bool    // some batch had weights
	weight   float64 // of all rows
	sum      float64 // of losses, each times its row's weight
	meter    meter   // nil: only the loss is measured
}

// meter accumulates the metrics that suit a loss. Every row counts with its weight, as in Keras's
// weighted_metrics and in TensorFlow Model Analysis with an example weight.
type meter interface {
	add(logits, target []float32, weight float64) // one row
	metrics(into map[string]float64)
}

func newMeters(m *nn.Model) *meters {
	return &meters{model: m, meter: meterFor(m.Loss, m.Width())}
}

func meterFor(loss nn.Loss, width int) meter {
	switch loss.(type) {
	case nn.SoftmaxCrossEntropy:
		return &classMeter{confusion: newConfusion(width)}
	case nn.SigmoidCrossEntropy:
		return newBinaryMeter(width)
	case nn.MeanSquaredError, nn.MeanAbsoluteError, nn.Huber:
		return &numberMeter{}
	}
	return nil
}

func (m *meters) add(logits []float32, b nn.Batch) error {
	if b.Weights != nil && len(b.Weights) != b.Rows {
		return fmt.Errorf("%d weights for %d rows", len(b.Weights), b.Rows)
	}
	width, weight := m.model.Width(), 1.0
	for r := range b.Rows {
		if b.Weights != nil {
			m.weighted, weight = true, float64(b.Weights[r])
		}
		z, t := logits[r*width:(r+1)*width], b.Targets[r*width:(r+1)*width]
		loss := m.model.Loss.Row(z, t)
		if !finite(loss) {
			return badLoss{r, loss}
		}
		m.sum += weight * loss
		m.weight += weight
		if m.meter != nil {
			m.meter.add(z, t, weight)
		}
	}
	m.rows += b.Rows
	return nil
}

// metrics returns the metrics: loss is the mean by weight, or, if Model.Reduction is
// SumOverBatchSize, by rows, as in Keras's evaluate.
func (m *meters) metrics() map[string]float64 {
	whole := m.weight
	if m.model.Reduction == nn.SumOverBatchSize {
		whole = float64(m.rows)
	}
	out := map[string]float64{"loss": m.sum / whole, "example_count": float64(m.rows)}
	if m.weighted {
		out["weighted_example_count"] = m.weight
	}
	if m.meter != nil {
		m.meter.metrics(out)
	}
	return out
}

// confusion returns nil if the model has no classes, or too many.
func (m *meters) confusion() *Confusion {
	switch meter := m.meter.(type) {
	case *classMeter:
		return meter.confusion
	case *binaryMeter:
		return meter.confusion
	}
	return nil
}

// binaryMeter measures the probabilities of binary outputs. An output is positive if its
// probability is above 0.5; 0.5 itself is negative.
//
//	accuracy  = right / outputs
//	precision = true positives / positives of the model
//	recall    = true positives / positives of the data
//
// If the divisor is 0, precision and recall are 0, as in Keras. rocCurve computes auc and
// keras_auc.
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

// place returns the index of a binary class.
func place(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// probability returns the sigmoid of a logit, as it is served: in float32.
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

// share returns part/whole, 0 if whole is 0.
func share(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return part / whole
}

// The area below the ROC curve is approximated on evenly spaced thresholds, by two rules that
// differ by some 1e-4: auc is that of TensorFlow Model Analysis for the exported model, keras_auc
// is keras.metrics.AUC() with its defaults.
const (
	analysisThresholds = 10000
	kerasThresholds    = 200
)

// rocCurve counts positives and negatives by the highest threshold that their probability is above:
// positives[i] are those above threshold i and not above i+1. Threshold i is i/(n-1), except for
// the outer ones, which are just outside of [0,1].
type rocCurve struct {
	bucket               func(p float32) int
	positives, negatives []float64
}

func newROCCurve(thresholds int, bucket func(p float32) int) *rocCurve {
	return &rocCurve{bucket, make([]float64, thresholds), make([]float64, thresholds)}
}

// add adds a probability and its target, 1 or 0.
func (c *rocCurve) add(p float32, target, weight float64) {
	b := c.bucket(p)
	c.positives[b] += weight * target
	c.negatives[b] += weight * (1 - target)
}

// slack is by how much TensorFlow Model Analysis raises thresholds.
const slack = 1e-7

// analysisBucket returns the last threshold below p, which is first rounded down to a multiple of
// 1/10000: TensorFlow Model Analysis counts probabilities in such bins, and then applies the
// thresholds (metrics/calibration_histogram.py).
func analysisBucket(p float32) int {
	down := math.Floor(float64(p)*analysisThresholds) / analysisThresholds
	return max(int((down-slack)*(analysisThresholds-1)), 0)
}

// kerasBucket returns max(ceil(199 p) - 1, 0), the product in float32
// (keras/src/metrics/metrics_utils.py): if it rounds to a whole number, p is treated as the
// threshold itself, and is not above it.
func kerasBucket(p float32) int {
	return max(int(math.Ceil(float64(p*(kerasThresholds-1))))-1, 0)
}

// area returns the area below the curve of points (false positives, true positives) of neighboring
// thresholds, joined by straight lines, Keras's summation method "interpolation": trapezoids from
// the highest threshold, where both are 0, downwards. It is 0 if there are only positives, or only
// negatives.
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

// classMeter measures classes: accuracy is the share of rows whose largest logit is that of the
// largest target, the first of equal ones, as in keras.metrics.CategoricalAccuracy.
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

// Confusion is a confusion matrix: Counts[i][j] is how many rows of class i the model assigns to
// class j, by weight, as in tf.math.confusion_matrix. For a single binary output, class 1 is a
// probability above 0.5.
type Confusion struct{ Counts [][]float64 }

// maxConfused is how many classes a matrix has at most: larger ones are of no use to readers.
const maxConfused = 256

// newConfusion returns nil for too many classes; add does nothing on nil.
func newConfusion(classes int) *Confusion {
	if classes > maxConfused {
		return nil
	}
	c := &Confusion{Counts: make([][]float64, classes)}
	for i := range c.Counts {
		c.Counts[i] = make([]float64, classes)
	}
	return c
}

func (c *Confusion) add(is, said int, weight float64) {
	if c != nil {
		c.Counts[is][said] += weight
	}
}

// numberMeter measures numbers: mae is the mean of |z-t|, rmse the root of the mean of (z-t)^2,
// over all rows and outputs.
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
