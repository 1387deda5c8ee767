package train

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
)

// Measured is what an evaluation found.
type Measured struct {
	Metrics   map[string]float64 // see Evaluate
	Confusion *Confusion         // for classes, up to 256 of them, and for one yes or no; else nil
}

// Evaluate runs m forward over at most steps batches, 0 for all, and returns the mean loss of their
// rows as "loss", their number as "example_count", and what else suits the loss: for classes
// "accuracy"; for yes or no "accuracy", "precision", "recall", "auc" and "keras_auc"; for numbers
// "mae" and "rmse". They are the numbers that TensorFlow Model Analysis finds for the exported
// model on the same rows, and keras_auc that of Keras's own AUC. A source without rows is an error.
//
// Where batches have weights, all of them are by weight, and "weighted_example_count" is the sum of
// the weights, which must be more than 0; the loss is made of the rows' as the model's Reduction
// says.
func Evaluate(ctx context.Context, m *nn.Model, s Source, steps int) (map[string]float64, error) {
	measured, err := Measure(ctx, m, s, steps)
	return measured.Metrics, err
}

// Measure is Evaluate with the confusion matrix.
func Measure(ctx context.Context, m *nn.Model, s Source, steps int) (Measured, error) {
	return evaluate(ctx, m, s, steps, func(Progress) {})
}

func evaluate(ctx context.Context, m *nn.Model, s Source, steps int, report func(Progress)) (Measured, error) {
	e, err := nn.NewEvaluator(m.Graph, m.Logits)
	if err != nil {
		return Measured{}, fmt.Errorf("evaluate: %w", err)
	}
	meters, done := newMeters(m), 0
	for ; steps == 0 || done < steps; done++ {
		batch, err := s.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = blame(e.Run(batch.Inputs), m.Graph, originsOf(s))
		}
		if err != nil {
			return Measured{}, fmt.Errorf("evaluate: batch %d: %w", done, err)
		}
		if err := meters.add(e.Value(m.Logits).Floats, batch); err != nil {
			return Measured{}, fmt.Errorf("evaluate: batch %d: %w", done, explain(err, m, batch, originsOf(s)))
		}
		if done%defaultLogEvery == 0 {
			report(Progress{Phase: Evaluating, Step: done + 1, Steps: steps})
		}
	}
	switch {
	case meters.rows == 0:
		return Measured{}, fmt.Errorf("evaluate: %w: there is no row to evaluate on", example.ErrInput)
	case !(meters.weight > 0):
		return Measured{}, fmt.Errorf("evaluate: %w: the weights of %d rows add up to %v, expected more than 0",
			example.ErrInput, meters.rows, meters.weight)
	}
	metrics := meters.metrics()
	if loss := metrics["loss"]; !finite(loss) {
		return Measured{}, fmt.Errorf("evaluate: loss is %w: %v", ErrNotFinite, loss)
	}
	return Measured{metrics, meters.confusion()}, nil
}

// take notes what the last evaluation found.
func (r *Result) take(m Measured) { r.Metrics, r.Confusion = m.Metrics, m.Confusion }
