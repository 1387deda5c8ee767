package train

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/nn"
)

// meters add up what an evaluation finds, batch by batch.
type meters struct {
	model    *nn.Model
	rows     int
	weighted bool    // some batch had weights
	weight   float64 // of all rows
	sum      float64 // of losses, each times its row's weight
	meter    meter   // nil: the loss says it all
}

// meter is what suits a loss. Every row counts as much as it weighs, as in Keras's weighted_metrics
// and in TensorFlow Model Analysis with an example weight.
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

// metrics: loss is the mean by weight, or, where Model.Reduction is SumOverBatchSize, by rows, as
// Keras's evaluate has it.
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

// confusion is nil where the model has no classes, or too many.
func (m *meters) confusion() *Confusion {
	switch meter := m.meter.(type) {
	case *classMeter:
		return meter.confusion
	case *binaryMeter:
		return meter.confusion
	}
	return nil
}
