package train

import "github.com/stoker-ml/stoker/compute/nn"

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
	out := map[string]float64{"loss": m.sum / float64(m.rows), "example_count": float64(m.rows)}
	if m.meter != nil {
		m.meter.metrics(m.rows, out)
	}
	return out
}
