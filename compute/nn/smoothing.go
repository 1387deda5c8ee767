package nn

import (
	"fmt"

	"gorgonia.org/gorgonia"
)

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
