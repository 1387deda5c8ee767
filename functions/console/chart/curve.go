package chart

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// Point is a metric at a step.
type Point struct {
	Step, Value float64
	Time        float64 // in seconds since 1970; 0: not known
}

// Curve is one metric over the steps of a run.
type Curve struct {
	Points []Point
	every  int // how many reports each point represents
	skip   int
}

// Limits of the curves that are followed live.
const (
	MaxPoints = 512 // of a curve: beyond this, every second point is left out
	MaxCurves = 24  // of a run
)

// Add adds the next point. A step that was reported before, after a restart from a checkpoint,
// replaces what followed it.
func (c *Curve) Add(p Point) {
	c.every = max(c.every, 1)
	for len(c.Points) > 0 && c.Points[len(c.Points)-1].Step >= p.Step {
		c.Points = c.Points[:len(c.Points)-1]
	}
	if c.skip++; c.skip < c.every && len(c.Points) > 1 {
		c.Points[len(c.Points)-1] = p // the last point is always present
		return
	}
	c.skip = 0
	c.Points = append(c.Points, p)
	if len(c.Points) >= MaxPoints {
		c.thin()
	}
}

func (c *Curve) thin() {
	kept := c.Points[:0]
	for i := 0; i < len(c.Points)-1; i += 2 {
		kept = append(kept, c.Points[i])
	}
	c.Points = append(kept, c.Points[len(c.Points)-1])
	c.every *= 2
}

// Curves are a run's metrics by name.
type Curves map[string]*Curve

// Add adds the values of metrics at a step and a time. Metrics beyond the first MaxCurves are left
// out.
func (c *Curves) Add(step int, at time.Time, metrics map[string]float64) {
	if *c == nil {
		*c = Curves{}
	}
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		if (*c)[name] == nil {
			if len(*c) >= MaxCurves {
				continue
			}
			(*c)[name] = &Curve{}
		}
		(*c)[name].Add(Point{float64(step), metrics[name], max(0, float64(at.UnixMilli())/1000)})
	}
}

// Series is one line of a chart.
type Series struct {
	Run    string // name, if several runs are compared
	Part   string // train or validation
	Color  int    // number of its color, from 0
	Dots   bool   // it is drawn as dots, without a line between them
	Points []Point
}

// Chart is one metric: a line for each run and part.
type Chart struct {
	Metric string
	Axis   string // step or epoch
	Lines  []Series
}

// Charts groups reported metrics by what they measure: val_loss is drawn in the chart of loss.
func (c Curves) Charts() []Chart {
	var list []Chart
	for _, name := range slices.Sorted(maps.Keys(c)) {
		metric, part := splitMetric(name)
		list = WithLine(list, metric, "step", Series{Part: part, Points: slices.Clone(c[name].Points)})
	}
	return Ordered(list)
}

// splitMetric splits a metric's name.
func splitMetric(name string) (metric, part string) {
	if rest, ok := strings.CutPrefix(name, "val_"); ok {
		return rest, "validation"
	}
	if rest, ok := strings.CutPrefix(name, "train_"); ok {
		return rest, "train"
	}
	return name, "train"
}

// WithLine adds a line to the chart of a metric by an axis; if list has none, it adds the chart.
// The colors of a single run's lines are those of their parts.
func WithLine(list []Chart, metric, axis string, line Series) []Chart {
	if line.Run == "" {
		line.Color = colorOfPart(list, metric, axis, line.Part)
	}
	at := slices.IndexFunc(list, func(c Chart) bool { return c.Metric == metric && c.Axis == axis })
	if at < 0 {
		return append(list, Chart{Metric: metric, Axis: axis, Lines: []Series{line}})
	}
	list[at].Lines = append(list[at].Lines, line)
	return list
}

// colorOfPart gives train and validation the same colors in all charts.
func colorOfPart(list []Chart, metric, axis, part string) int {
	color := slices.Index([]string{"train", "validation"}, part)
	if color >= 0 {
		return color
	}
	color = 2
	for _, c := range list {
		if c.Metric == metric && c.Axis == axis {
			color += len(c.Lines)
		}
	}
	return color
}

// Ordered sorts the loss first, then metrics by name, and learning rates and the like last.
func Ordered(list []Chart) []Chart {
	rank := func(c Chart) int {
		switch {
		case c.Metric == "loss":
			return 0
		case strings.Contains(c.Metric, "learning_rate"):
			return 2
		}
		return 1
	}
	slices.SortStableFunc(list, func(a, b Chart) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.Metric, b.Metric), strings.Compare(a.Axis, b.Axis))
	})
	return list
}
