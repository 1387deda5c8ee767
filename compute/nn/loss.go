package nn

import (
	"fmt"
	"math"
	"slices"
)

// Loss measures the error of a row of logits. Targets have the shape of the logits. Model.Reduction
// defines how the losses of rows are combined to that of a batch. compute/nn/autodiff has the
// gradients of the losses of this package, and trains with no others. Implementations are immutable
// and may be used by several goroutines at once.
type Loss interface {
	// Name is Keras's: categorical_crossentropy, binary_crossentropy, mean_squared_error,
	// mean_absolute_error, huber.
	Name() string
	// Row is the loss of one row.
	Row(logits, target []float32) float64
	// Predict converts logits [b,n] to predictions: probabilities, or the logits themselves.
	Predict(b *Builder, name string, logits Ref) Ref
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

// checkLoss returns what is wrong with a loss's numbers.
func checkLoss(l Loss) error {
	switch l := l.(type) {
	case Huber:
		if !(l.Bound() > 0) {
			return fmt.Errorf("huber: delta %g, expected a number above 0", l.Delta)
		}
	case SoftmaxCrossEntropy:
		return l.Smoothing.check()
	case SigmoidCrossEntropy:
		return l.Smoothing.check()
	}
	return nil
}

// RowError is an error of one row of a batch, counted from 0, at a node of the graph.
type RowError struct {
	Row  int
	Node string
	Err  error
}

func (e *RowError) Error() string { return fmt.Sprintf("row %d: %v", e.Row, e.Err) }

func (e *RowError) Unwrap() error { return e.Err }

// MeanSquaredError is mean_j (z[j] - t[j])^2: regression.
type MeanSquaredError struct{}

// Name is Keras's.
func (MeanSquaredError) Name() string { return "mean_squared_error" }

// Row follows the formula.
func (MeanSquaredError) Row(z, t []float32) float64 {
	sum := 0.0
	for j := range z {
		d := float64(z[j] - t[j])
		sum += d * d
	}
	return sum / float64(len(z))
}

// Predict is the logits themselves.
func (MeanSquaredError) Predict(_ *Builder, _ string, logits Ref) Ref { return logits }

// MeanAbsoluteError is mean_j |z[j] - t[j]|, with slope 0 where they are the same: regression to
// the median.
type MeanAbsoluteError struct{}

// Name is Keras's.
func (MeanAbsoluteError) Name() string { return "mean_absolute_error" }

// Row follows the formula.
func (MeanAbsoluteError) Row(z, t []float32) float64 {
	sum := 0.0
	for j := range z {
		sum += math.Abs(float64(z[j]) - float64(t[j]))
	}
	return sum / float64(len(z))
}

// Predict is the logits themselves.
func (MeanAbsoluteError) Predict(_ *Builder, _ string, logits Ref) Ref { return logits }

// Huber is the mean over j of e^2/2 where |e| <= Delta, else Delta |e| - Delta^2/2, e = z[j] - t[j]
// (Huber 1964, as in Keras): like MeanSquaredError for small errors, and for large ones no steeper
// than Delta. A Delta of 0 counts as 1, Keras's default.
type Huber struct{ Delta float64 }

// Name is Keras's.
func (Huber) Name() string { return "huber" }

// Bound returns Delta, or its default.
func (l Huber) Bound() float64 {
	if l.Delta == 0 {
		return 1
	}
	return l.Delta
}

// Row takes the formula as c (|e| - c/2), c the smaller of |e| and Delta.
func (l Huber) Row(z, t []float32) float64 {
	sum := 0.0
	for j := range z {
		e := math.Abs(float64(z[j]) - float64(t[j]))
		c := min(e, l.Bound())
		sum += c * (e - c/2)
	}
	return sum / float64(len(z))
}

// Predict is the logits themselves.
func (Huber) Predict(_ *Builder, _ string, logits Ref) Ref { return logits }

// SigmoidCrossEntropy is mean_j softplus(z[j]) - t[j] z[j], which is -t log p - (1-t) log(1-p) with
// p = sigmoid(z): binary classification.
type SigmoidCrossEntropy struct{ Smoothing Smoothing }

// Name is Keras's.
func (SigmoidCrossEntropy) Name() string { return "binary_crossentropy" }

// Row computes softplus(z) as max(z,0) + log(1+exp(-|z|)), which can't overflow.
func (l SigmoidCrossEntropy) Row(z, t []float32) float64 {
	sum := 0.0
	for j := range z {
		x := float64(z[j])
		sum += max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) - l.Smoothing.of(t[j], 2)*x
	}
	return sum / float64(len(z))
}

// Predict is sigmoid.
func (SigmoidCrossEntropy) Predict(b *Builder, name string, logits Ref) Ref {
	return b.Activation(name, logits, OpSigmoid)
}

// SoftmaxCrossEntropy is -sum_j t[j] log p[j] with p = softmax(z): one class of several. t sums to
// 1, and is usually one-hot.
type SoftmaxCrossEntropy struct{ Smoothing Smoothing }

// Name is Keras's.
func (SoftmaxCrossEntropy) Name() string { return "categorical_crossentropy" }

// Row computes log p[j] as z[j] - m - log sum_k exp(z[k]-m), m the largest z.
func (l SoftmaxCrossEntropy) Row(z, t []float32) float64 {
	m, sum, loss := slices.Max(z), 0.0, 0.0
	for _, zj := range z {
		sum += math.Exp(float64(zj - m))
	}
	logSum := math.Log(sum)
	for j, tj := range t {
		if t := l.Smoothing.of(tj, len(t)); t != 0 {
			loss -= t * (float64(z[j]-m) - logSum)
		}
	}
	return loss
}

// Predict is softmax.
func (SoftmaxCrossEntropy) Predict(b *Builder, name string, logits Ref) Ref {
	return b.Activation(name, logits, OpSoftmax)
}

// Smoothing is Keras's label_smoothing, from 0 to below 1: a target t becomes t (1 - Smoothing) +
// Smoothing / n, where n is the number of classes, 2 for a binary one (Szegedy et al. 2016, section
// 7).
type Smoothing float64

// of is the formula.
func (s Smoothing) of(t float32, classes int) float64 {
	return float64(t)*(1-float64(s)) + float64(s)/float64(classes)
}

func (s Smoothing) check() error {
	if !(s >= 0 && s < 1) {
		return fmt.Errorf("label smoothing %g: expected 0 or more and below 1", float64(s))
	}
	return nil
}
