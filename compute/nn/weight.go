package nn

import "fmt"

// Reduction says how the loss of a batch is made of its rows' losses, each times the row's weight: that of Batch.Weights times
// that of its class in Model.ClassWeights, 1 where neither is given. Without weights both are the mean.
type Reduction int

// The reductions.
const (
	// WeightedMean divides by the sum of the weights: Keras's "mean_with_sample_weight".
	WeightedMean Reduction = iota
	// SumOverBatchSize divides by the number of rows, whatever they weigh: Keras's default, so that a row of weight 2 learns as if it
	// were there twice in a batch of the same size.
	SumOverBatchSize
)

// whole is what the weighted losses of a batch are divided by.
func (m *Model) whole(b Batch) (float64, error) {
	if m.ClassWeights != nil && len(m.ClassWeights) != m.classes() {
		return 0, fmt.Errorf("%d class weights for %d classes", len(m.ClassWeights), m.classes())
	}
	if m.Reduction == SumOverBatchSize {
		return float64(b.Rows), nil
	}
	sum := 0.0
	for r := range b.Rows {
		sum += m.weight(b, r)
	}
	if !(sum > 0) {
		return 0, fmt.Errorf("the weights of the batch add up to %g, expected more than 0", sum)
	}
	return sum, nil
}

// weight is what a row counts.
func (m *Model) weight(b Batch, row int) float64 {
	w := 1.0
	if b.Weights != nil {
		w = float64(b.Weights[row])
	}
	if m.ClassWeights != nil {
		w *= float64(m.ClassWeights[classOf(b.Targets[row*m.width:(row+1)*m.width])])
	}
	return w
}

// classes is how many a target distinguishes: yes and no, or one a column.
func (m *Model) classes() int { return max(m.width, 2) }

// classOf is the class that a target names: 0 or 1 where it is one number, else the column of the largest, as Keras's fit takes it.
func classOf(target []float32) int {
	if len(target) > 1 {
		return argMaxRow(target)
	}
	if target[0] >= 0.5 {
		return 1
	}
	return 0
}
