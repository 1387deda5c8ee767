package chart

import (
	"fmt"
	"hash/fnv"
	"math"
)

// The size of a slice, in its own units.
const sliceWidth, sliceHeight = 340.0, 220.0

// Slice draws the scores by one parameter: later trials are darker. It returns "" if no trial has
// both.
func (c *Study) Slice(parameter string) string {
	x := c.dimension(parameter)
	if x == nil || len(c.Scores) == 0 {
		return ""
	}
	y := c.Scores[0]
	a := area{52, 12, sliceWidth - 12, sliceHeight - 42}
	marks := c.scatter(a, x, y)
	if len(marks) == 0 {
		return ""
	}
	label := fmt.Sprintf("%s by %s of %d trials", y.Name, x.Name, len(marks))
	if x.Log {
		label += ", on a logarithmic axis"
	}
	p := newPicture("slice", sliceWidth, sliceHeight, label)
	p.axes(a, x, y, 5, 4)
	p.marks(marks)
	c.ringBest(p, a, x, y)
	name := x.Name
	if x.Log {
		name += " (log)"
	}
	p.named("name middle", (a.left+a.right)/2, sliceHeight-6, name, 44)
	return p.done()
}

// dimension returns a parameter's dimension; nil if the study has none of that name.
func (c *Study) dimension(parameter string) *Dimension {
	for _, d := range c.Parameters {
		if d.Name == parameter {
			return d
		}
	}
	return nil
}

// scatter returns the trials that have a value in both dimensions, in the order of their numbers.
// Those of one word are spread over its column.
func (c *Study) scatter(a area, x, y *Dimension) (marks []mark) {
	rows := c.Report.Trials
	for i := range rows {
		if math.IsNaN(x.at[i]) || math.IsNaN(y.at[i]) {
			continue
		}
		marks = append(marks, mark{x: a.x(x.spread(i, rows[i].Trial)), y: a.y(y.spread(i, rows[i].Trial)), trial: rows[i].Trial, shade: shadeOf(i, len(rows))})
	}
	return marks
}

// spread returns the position of a row. In the column of a word it is moved by up to a third of the
// column to either side, always the same for a trial, so that dots don't hide each other.
func (d *Dimension) spread(i int, trial string) float64 {
	if d.Words == nil {
		return d.at[i]
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(trial))
	return d.at[i] + (float64(hash.Sum32()%1000)/999-0.5)*2/3/float64(len(d.Words))
}

// ringBest marks the best trial, or the trials of the Pareto front.
func (c *Study) ringBest(p *picture, a area, x, y *Dimension) {
	for i, row := range c.Report.Trials {
		if row.Best && !math.IsNaN(x.at[i]) && !math.IsNaN(y.at[i]) {
			p.ring(a.x(x.spread(i, row.Trial)), a.y(y.spread(i, row.Trial)))
		}
	}
}
