package chart

import (
	"fmt"
	"math"

	"github.com/stoker-ml/stoker/compute/tune"
)

// The size of the drawing of intermediate values, in its own units, and what it shows at most.
const (
	stepsWidth, stepsHeight = 1100.0, 300.0
	maxCurves               = 120 // the best ones, and others evenly by rank
	bestCurves              = 5
	maxCurvePoints          = 40
)

// Intermediate draws the first objective of the trials by step, as far as the log has it. Lines of
// better trials are stronger. It returns "" if fewer than two trials have several reports.
func (c *Study) Intermediate() string {
	if len(c.Scores) == 0 {
		return ""
	}
	name, curves := c.Scores[0].Name, c.curves()
	if len(curves) < 2 {
		return ""
	}
	steps := c.stepDimension(curves, name)
	values := c.reportDimension(curves, name)
	a := area{60, 12, stepsWidth - 16, stepsHeight - 44}
	few := fewCurves(curves)
	p := newPicture("intermediate", stepsWidth, stepsHeight, fmt.Sprintf("%s by step of %d of %d trials; stronger is better", name, len(few), len(curves)))
	p.axes(a, steps, values, 10, 5)
	for at := len(few) - 1; at >= 0; at-- { // the best is on top
		i := few[at]
		d := c.curvePath(a, steps, values, c.study.Trials[i].Curves[name])
		class := "lines"
		if at < bestCurves {
			class += " strong"
		}
		fmt.Fprintf(p, `<path class="%s s%d" data-t="%s" d="%s"/>`, class, shades-1-shadeOf(c.ranks[c.Report.Trials[i].Trial], len(c.ranks)),
			escaped(shortTrial(c.Report.Trials[i].Trial)), d)
	}
	p.text("name middle", (a.left+a.right)/2, stepsHeight-6, "step")
	return p.done()
}

// curves returns the rows that have several reports, the best first.
func (c *Study) curves() (rows []int) {
	for _, i := range c.sorted {
		if len(c.study.Trials[i].Curves[c.Scores[0].Name]) > 1 {
			rows = append(rows, i)
		}
	}
	return rows
}

// HasCurves reports whether Intermediate has something to draw.
func (c *Study) HasCurves() bool { return len(c.Scores) > 0 && len(c.curves()) > 1 }

// fewCurves returns the best trials, and others evenly.
func fewCurves(curves []int) []int {
	if len(curves) <= maxCurves {
		return curves
	}
	few := append([]int{}, curves[:bestCurves]...)
	rest := curves[bestCurves:]
	for i := range maxCurves - bestCurves {
		few = append(few, rest[i*len(rest)/(maxCurves-bestCurves)])
	}
	return few
}

func (c *Study) stepDimension(curves []int, name string) *Dimension {
	d := &Dimension{Name: "step", Low: math.Inf(1), High: math.Inf(-1)}
	for _, i := range curves {
		curve := c.study.Trials[i].Curves[name]
		d.Low, d.High = min(d.Low, float64(curve[0].Step)), max(d.High, float64(curve[len(curve)-1].Step))
	}
	return d
}

// reportDimension has the range of nine tenths of the reports: the first ones are often far off.
func (c *Study) reportDimension(curves []int, name string) *Dimension {
	var values []any
	for _, i := range curves {
		for _, p := range c.study.Trials[i].Curves[name] {
			values = append(values, p.Value)
		}
	}
	d := &Dimension{Name: name, Direction: c.Direction()}
	d.fit(len(values), func(i int) (any, bool) { return values[i], true })
	d.withoutOutliers()
	return d
}

// curvePath leaves gaps where values are not finite.
func (c *Study) curvePath(a area, steps, values *Dimension, curve []tune.Point) []byte {
	d, pen := []byte{}, byte('M')
	every := (len(curve) + maxCurvePoints - 1) / maxCurvePoints
	for i, p := range curve {
		if i%every != 0 && i != len(curve)-1 {
			continue
		}
		if math.IsNaN(p.Value) || math.IsInf(p.Value, 0) {
			pen = 'M'
			continue
		}
		d = appendSpot(d, pen, a.x(steps.Position(float64(p.Step))), a.y(values.Position(p.Value)))
		pen = 'L'
	}
	return d
}
