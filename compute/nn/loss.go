package nn

import (
	"fmt"

	"gorgonia.org/gorgonia"
)

// Loss says how wrong a row of logits is. Targets have the shape of the logits. What a batch costs is made of its rows
// as Model.Reduction says.
type Loss interface {
	// Name is Keras's: categorical_crossentropy, binary_crossentropy, mean_squared_error, mean_absolute_error, huber.
	Name() string
	// Row is the loss of one row.
	Row(logits, target []float32) float64
	// Predict turns logits [b,n] into what is answered: probabilities, or the logits themselves.
	Predict(b *Builder, name string, logits Ref) Ref

	// express adds to the graph of logits the scalar sum over rows r of weight[r] Row(r); weight has the shape of the
	// logits, each row one number.
	express(logits, target, weight *gorgonia.Node) (*gorgonia.Node, error)
}

// LossNamed finds a loss by its Name, with Keras's defaults.
func LossNamed(name string) (Loss, error) {
	for _, l := range []Loss{SoftmaxCrossEntropy{}, SigmoidCrossEntropy{}, MeanSquaredError{}, MeanAbsoluteError{}, Huber{}} {
		if l.Name() == name {
			return l, nil
		}
	}
	return nil, fmt.Errorf("unknown loss %q", name)
}

// checkLoss says what is wrong with a loss's numbers.
func checkLoss(l Loss) error {
	switch l := l.(type) {
	case Huber:
		if !(l.delta() > 0) {
			return fmt.Errorf("huber: delta %g, expected a number above 0", l.Delta)
		}
	case SoftmaxCrossEntropy:
		return l.Smoothing.check()
	case SigmoidCrossEntropy:
		return l.Smoothing.check()
	}
	return nil
}
