package autodiff

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/stoker-ml/stoker/compute/nn"
)

// express returns the scalar sum over rows r of weight[r] loss.Row(r). target and weight have the
// shape of the logits; weight has one number per row.
func express(loss nn.Loss, logits, target, weight *gorgonia.Node) (*gorgonia.Node, error) {
	switch l := loss.(type) {
	case nn.MeanSquaredError:
		return meanSquaredError(logits, target, weight)
	case nn.MeanAbsoluteError:
		return meanAbsoluteError(logits, target, weight)
	case nn.Huber:
		return huber(l, logits, target, weight)
	case nn.SigmoidCrossEntropy:
		return sigmoidCrossEntropy(l, logits, target, weight)
	case nn.SoftmaxCrossEntropy:
		return softmaxCrossEntropy(l, logits, target, weight)
	}
	return nil, fmt.Errorf("loss %q has no gradient", loss.Name())
}

func meanSquaredError(logits, target, weight *gorgonia.Node) (*gorgonia.Node, error) {
	var e expression
	diff := e.of2(gorgonia.Sub, logits, target)
	return e.weightedMean(e.of2(gorgonia.HadamardProd, diff, diff), weight)
}

func meanAbsoluteError(logits, target, weight *gorgonia.Node) (*gorgonia.Node, error) {
	var e expression
	return e.weightedMean(e.of(gorgonia.Abs, e.of2(gorgonia.Sub, logits, target)), weight)
}

func huber(l nn.Huber, logits, target, weight *gorgonia.Node) (*gorgonia.Node, error) {
	var x expression
	e := x.of(gorgonia.Abs, x.of2(gorgonia.Sub, logits, target))
	c := x.atMost(e, float32(l.Bound()))
	half := x.of2(gorgonia.HadamardProd, c, gorgonia.NewConstant(float32(0.5)))
	return x.weightedMean(x.of2(gorgonia.HadamardProd, c, x.of2(gorgonia.Sub, e, half)), weight)
}

// atMost is the smaller of x and bound, with slope 1 if that is x, else 0.
func (e *expression) atMost(x *gorgonia.Node, bound float32) *gorgonia.Node {
	limit := gorgonia.NewConstant(bound)
	below := e.run(func() (*gorgonia.Node, error) { return gorgonia.Lte(x, limit, true) })
	above := e.run(func() (*gorgonia.Node, error) { return gorgonia.Gt(x, limit, true) })
	return e.of2(gorgonia.Add, e.of2(gorgonia.HadamardProd, x, below), e.of2(gorgonia.HadamardProd, above, limit))
}

func sigmoidCrossEntropy(l nn.SigmoidCrossEntropy, logits, target, weight *gorgonia.Node) (*gorgonia.Node, error) {
	var e expression
	target = e.smoothed(l.Smoothing, target, 2)
	diff := e.of2(gorgonia.Sub, e.of(gorgonia.Softplus, logits), e.of2(gorgonia.HadamardProd, target, logits))
	return e.weightedMean(diff, weight)
}

func softmaxCrossEntropy(l nn.SoftmaxCrossEntropy, logits, target, weight *gorgonia.Node) (*gorgonia.Node, error) {
	var e expression
	target = e.smoothed(l.Smoothing, target, target.Shape()[1])
	weighted := e.of2(gorgonia.HadamardProd, target, weight)
	sum := e.of(sumAll, e.of2(gorgonia.HadamardProd, weighted, e.of(logSoftmaxNode, logits)))
	return e.of(gorgonia.Neg, sum), e.err
}

// smoothed is the formula of nn.Smoothing over all targets.
func (e *expression) smoothed(s nn.Smoothing, target *gorgonia.Node, classes int) *gorgonia.Node {
	if s == 0 {
		return target
	}
	return e.of2(gorgonia.Add, e.scaled(target, 1-float64(s)), gorgonia.NewConstant(float32(float64(s)/float64(classes))))
}

// penalty is the formula of nn.Penalty over a param; nil for none.
func (e *expression) penalty(p nn.Penalty, w *gorgonia.Node) *gorgonia.Node {
	var total *gorgonia.Node
	if p.L1 != 0 {
		total = e.scaled(e.of(sumAll, e.of(gorgonia.Abs, w)), p.L1)
	}
	if p.L2 != 0 {
		total = e.plus(total, e.scaled(e.of(sumAll, e.of(gorgonia.Square, w)), p.L2))
	}
	return total
}

// scaled is x times a number.
func (e *expression) scaled(x *gorgonia.Node, by float64) *gorgonia.Node {
	return e.of2(gorgonia.HadamardProd, x, gorgonia.NewConstant(float32(by)))
}

// plus is x + y, or y if x is nil.
func (e *expression) plus(x, y *gorgonia.Node) *gorgonia.Node {
	if x == nil {
		return y
	}
	return e.of2(gorgonia.Add, x, y)
}

// penalized adds to cost the penalties of the params that it needs.
func (l *lowering) penalized(m *nn.Model, cost *gorgonia.Node) (*gorgonia.Node, error) {
	for _, p := range m.Graph.Params {
		w := l.nodes[p.Name]
		if w == nil || p.Penalty == (nn.Penalty{}) {
			continue
		}
		cost = l.plus(cost, l.penalty(p.Penalty, w))
	}
	return cost, l.err
}
