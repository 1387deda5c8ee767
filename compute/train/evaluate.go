package train

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/stoker-ml/stoker/compute/example"
	"github.com/stoker-ml/stoker/compute/nn"
)

// Evaluate runs m forward over at most steps batches, 0 for all, and returns the mean loss of their rows as "loss", their
// number as "example_count", and what else suits the loss: for classes "accuracy"; for yes or no "accuracy", "precision",
// "recall" and "auc"; for numbers "mae" and "rmse". They are the numbers that TensorFlow Model Analysis finds for the
// exported model on the same rows. A source without rows is an error.
func Evaluate(ctx context.Context, m *nn.Model, s Source, steps int) (map[string]float64, error) {
	return evaluate(ctx, m, s, steps, func(Progress) {})
}

func evaluate(ctx context.Context, m *nn.Model, s Source, steps int, report func(Progress)) (map[string]float64, error) {
	e, err := nn.NewEvaluator(m.Graph)
	if err != nil {
		return nil, fmt.Errorf("evaluate: %w", err)
	}
	meters, done := newMeters(m), 0
	for ; steps == 0 || done < steps; done++ {
		batch, err := s.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = e.Run(batch.Inputs)
		}
		if err != nil {
			return nil, fmt.Errorf("evaluate: batch %d: %w", done, err)
		}
		meters.add(e.Value(m.Logits).Floats, batch)
		if done%defaultLogEvery == 0 {
			report(Progress{Phase: Evaluating, Step: done + 1, Steps: steps})
		}
	}
	if meters.rows == 0 {
		return nil, fmt.Errorf("evaluate: %w: there is no row to evaluate on", example.ErrInput)
	}
	metrics := meters.metrics()
	if loss := metrics["loss"]; !finite(loss) {
		return nil, fmt.Errorf("evaluate: loss is %w: %v", ErrNotFinite, loss)
	}
	return metrics, nil
}
