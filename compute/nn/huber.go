package nn

import (
	"math"

	"gorgonia.org/gorgonia"
)

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
