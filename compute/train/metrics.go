package train

import (
	"math"

	"github.com/stoker-ml/stoker/compute/nn"
)

// meters add up what Evaluate returns, batch by batch.
type meters struct {
	loss  nn.Loss
	width int
	rows  int
	sum   float64 // of losses
	meter meter   // nil: the loss says it all
}

// meter is what suits a loss.
type meter interface {
	add(logits, target []float32) // one row
	metrics(rows int, into map[string]float64)
}

func newMeters(m *nn.Model) *meters {
	return &meters{loss: m.Loss, width: m.Width(), meter: meterFor(m.Loss)}
}

func meterFor(loss nn.Loss) meter {
	switch loss.(type) {
	case nn.SoftmaxCrossEntropy:
		return &classMeter{}
	case nn.SigmoidCrossEntropy:
		return &binaryMeter{}
	case nn.MeanSquaredError:
		return &numberMeter{}
	}
	return nil
}

func (m *meters) add(logits []float32, b nn.Batch) {
	for r := range b.Rows {
		z, t := logits[r*m.width:(r+1)*m.width], b.Targets[r*m.width:(r+1)*m.width]
		m.sum += m.loss.Row(z, t)
		if m.meter != nil {
			m.meter.add(z, t)
		}
	}
	m.rows += b.Rows
}

func (m *meters) metrics() map[string]float64 {
	out := map[string]float64{"loss": m.sum / float64(m.rows)}
	if m.meter != nil {
		m.meter.metrics(m.rows, out)
	}
	return out
}

// classMeter: accuracy is the share of rows whose largest logit is that of the largest target, the first of equal ones.
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
