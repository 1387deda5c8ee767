package train

// Confusion is a confusion matrix: Counts[i][j] is how many rows of class i the model takes for
// class j, each as many times as it weighs, as tf.math.confusion_matrix has it. With one yes or no,
// class 1 is yes, from a probability above 0.5 on.
type Confusion struct{ Counts [][]float64 }

// maxConfused is how many classes a matrix has at most: a larger one nobody reads.
const maxConfused = 256

// newConfusion is nil for too many classes, and then add does nothing.
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
