package nn

import (
	"fmt"
	"math"
	"slices"

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

// RowError is what is wrong with one row of a batch, counted from 0, at a node of the graph.
type RowError struct {
	Row  int
	Node string
	Err  error
}

func (e *RowError) Error() string { return fmt.Sprintf("row %d: %v", e.Row, e.Err) }

func (e *RowError) Unwrap() error { return e.Err }

// outside is the error of an index that is not within 0..size-1: place i of the values of a node's operand.
func (s *step) outside(i int, index int64, size int) error {
	return &RowError{Row: i / s.in[0].Width, Node: s.node.Name, Err: fmt.Errorf("index %d is outside 0..%d", index, size-1)}
}

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

func (MeanSquaredError) express(logits, target, weight *gorgonia.Node) (*gorgonia.Node, error) {
	var e expression
	diff := e.of2(gorgonia.Sub, logits, target)
	return e.weightedMean(e.of2(gorgonia.HadamardProd, diff, diff), weight)
}

// MeanAbsoluteError is mean_j |z[j] - t[j]|, with slope 0 where they are the same: regression to the median.
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

func (MeanAbsoluteError) express(logits, target, weight *gorgonia.Node) (*gorgonia.Node, error) {
	var e expression
	return e.weightedMean(e.of(gorgonia.Abs, e.of2(gorgonia.Sub, logits, target)), weight)
}

// Huber is the mean over j of e^2/2 where |e| <= Delta, else Delta |e| - Delta^2/2, e = z[j] - t[j] (Huber 1964, as in Keras): like
// MeanSquaredError for small errors, and for large ones no steeper than Delta. A Delta of 0 counts as 1, Keras's default.
type Huber struct{ Delta float64 }

// Name is Keras's.
func (Huber) Name() string { return "huber" }

func (l Huber) delta() float64 {
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
		c := min(e, l.delta())
		sum += c * (e - c/2)
	}
	return sum / float64(len(z))
}

// Predict is the logits themselves.
func (Huber) Predict(_ *Builder, _ string, logits Ref) Ref { return logits }

func (l Huber) express(logits, target, weight *gorgonia.Node) (*gorgonia.Node, error) {
	var x expression
	e := x.of(gorgonia.Abs, x.of2(gorgonia.Sub, logits, target))
	c := x.atMost(e, float32(l.delta()))
	half := x.of2(gorgonia.HadamardProd, c, gorgonia.NewConstant(float32(0.5)))
	return x.weightedMean(x.of2(gorgonia.HadamardProd, c, x.of2(gorgonia.Sub, e, half)), weight)
}

// atMost is the smaller of x and bound: x where it is no more, and then its slope is 1, else 0.
func (e *expression) atMost(x *gorgonia.Node, bound float32) *gorgonia.Node {
	limit := gorgonia.NewConstant(bound)
	below := e.run(func() (*gorgonia.Node, error) { return gorgonia.Lte(x, limit, true) })
	above := e.run(func() (*gorgonia.Node, error) { return gorgonia.Gt(x, limit, true) })
	return e.of2(gorgonia.Add, e.of2(gorgonia.HadamardProd, x, below), e.of2(gorgonia.HadamardProd, above, limit))
}

// SigmoidCrossEntropy is mean_j softplus(z[j]) - t[j] z[j], which is -t log p - (1-t) log(1-p) with p = sigmoid(z): yes or no.
type SigmoidCrossEntropy struct{ Smoothing Smoothing }

// Name is Keras's.
func (SigmoidCrossEntropy) Name() string { return "binary_crossentropy" }

// Row takes softplus(z) as max(z,0) + log(1+exp(-|z|)), which can't overflow.
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

func (l SigmoidCrossEntropy) express(logits, target, weight *gorgonia.Node) (*gorgonia.Node, error) {
	var e expression
	target = l.Smoothing.express(&e, target, 2)
	diff := e.of2(gorgonia.Sub, e.of(gorgonia.Softplus, logits), e.of2(gorgonia.HadamardProd, target, logits))
	return e.weightedMean(diff, weight)
}

// SoftmaxCrossEntropy is -sum_j t[j] log p[j] with p = softmax(z): one class of many. t sums to 1, in general one-hot.
type SoftmaxCrossEntropy struct{ Smoothing Smoothing }

// Name is Keras's.
func (SoftmaxCrossEntropy) Name() string { return "categorical_crossentropy" }

// Row takes log p[j] as z[j] - m - log sum_k exp(z[k]-m), m the largest z.
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

func (l SoftmaxCrossEntropy) express(logits, target, weight *gorgonia.Node) (*gorgonia.Node, error) {
	var e expression
	target = l.Smoothing.express(&e, target, target.Shape()[1])
	weighted := e.of2(gorgonia.HadamardProd, target, weight)
	sum := e.of(sumAll, e.of2(gorgonia.HadamardProd, weighted, e.of(logSoftmaxNode, logits)))
	return e.of(gorgonia.Neg, sum), e.err
}

// Smoothing is Keras's label_smoothing, from 0 to below 1: a target t counts as t (1 - Smoothing) + Smoothing / n, where n is the
// number of classes, 2 for yes or no (Szegedy et al. 2016, section 7).
type Smoothing float64

// of is the formula.
func (s Smoothing) of(t float32, classes int) float64 {
	return float64(t)*(1-float64(s)) + float64(s)/float64(classes)
}

// express is the formula over all targets.
func (s Smoothing) express(e *expression, target *gorgonia.Node, classes int) *gorgonia.Node {
	if s == 0 {
		return target
	}
	return e.of2(gorgonia.Add, e.scaled(target, 1-float64(s)), gorgonia.NewConstant(float32(float64(s)/float64(classes))))
}

func (s Smoothing) check() error {
	if !(s >= 0 && s < 1) {
		return fmt.Errorf("label smoothing %g: expected 0 or more and below 1", float64(s))
	}
	return nil
}
