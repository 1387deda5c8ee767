package nn

import (
	"fmt"
	"math"
)

// Reduction defines how the losses of rows are combined to that of a batch. Each is multiplied by
// the row's weight: that in Batch.Weights times that of its class in Model.ClassWeights, 1 by
// default. Without weights both reductions are the mean.
type Reduction int

// The reductions.
const (
	// WeightedMean divides by the sum of the weights: Keras's "mean_with_sample_weight".
	WeightedMean Reduction = iota
	// SumOverBatchSize divides by the number of rows, whatever their weights: Keras's default, so
	// that a row of weight 2 counts like two equal rows in a batch of the same size.
	SumOverBatchSize
)

// WeighRows sets to [rows, Width], of at least b.Rows rows, to the factor of each row of b in the
// loss of the batch: its weight divided as Reduction defines, the same for all numbers of the row,
// and 0 after the last row of b.
func (m *Model) WeighRows(to []float32, b Batch) error {
	if b.Weights != nil && len(b.Weights) != b.Rows {
		return fmt.Errorf("%d weights for %d rows", len(b.Weights), b.Rows)
	}
	whole, err := m.whole(b)
	if err != nil {
		return err
	}
	clear(to)
	for r := range b.Rows {
		w := float32(m.weight(b, r) / whole)
		for j := range m.width {
			to[r*m.width+j] = w
		}
	}
	return nil
}

// whole returns the divisor of a batch's weighted losses.
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

// weight returns the weight of a row.
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

// classes returns how many classes a target distinguishes: two, or one a column.
func (m *Model) classes() int { return max(m.width, 2) }

// classOf returns the class of a target: 0 or 1 if it is one number, else the column of the
// largest, as in Keras's fit.
func classOf(target []float32) int {
	if len(target) > 1 {
		return argMaxRow(target)
	}
	if target[0] >= 0.5 {
		return 1
	}
	return 0
}

// Penalty is the regularization of a param in training: it adds L1 sum |w| + L2 sum w^2 to the
// loss, as Keras's regularizers L1, L2 and L1L2. It doesn't depend on the batch. The zero value is
// none.
type Penalty struct{ L1, L2 float64 }

func (p Penalty) check() error {
	if !(p.L1 >= 0 && p.L2 >= 0) || math.IsInf(p.L1+p.L2, 0) {
		return fmt.Errorf("penalty l1 %g, l2 %g: expected numbers of 0 or more", p.L1, p.L2)
	}
	return nil
}

// of is the formula.
func (p Penalty) of(values []float32) float64 {
	if p == (Penalty{}) {
		return 0
	}
	sum, squares := 0.0, 0.0
	for _, w := range values {
		sum += math.Abs(float64(w))
		squares += float64(w) * float64(w)
	}
	return p.L1*sum + p.L2*squares
}

// Penalty returns what the params add to the loss of a training; the loss of Evaluate does not
// include it.
func (m *Model) Penalty() float64 {
	sum := 0.0
	for _, p := range m.Graph.Params {
		sum += p.Penalty.of(p.Values)
	}
	return sum
}
