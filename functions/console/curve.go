package console

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// point is a metric at a step.
type point struct{ step, value float64 }

// curve is one metric over the steps of a run.
type curve struct {
	points []point
	every  int // how many reports each point represents
	skip   int
}

// Limits of the curves that are followed live.
const (
	maxPoints = 512 // of a curve: beyond this, every second point is left out
	maxCurves = 24  // of a run
)

// add adds the next point. A step that was reported before, after a restart from a checkpoint,
// replaces what followed it.
func (c *curve) add(p point) {
	c.every = max(c.every, 1)
	for len(c.points) > 0 && c.points[len(c.points)-1].step >= p.step {
		c.points = c.points[:len(c.points)-1]
	}
	if c.skip++; c.skip < c.every && len(c.points) > 1 {
		c.points[len(c.points)-1] = p // the last point is always present
		return
	}
	c.skip = 0
	c.points = append(c.points, p)
	if len(c.points) >= maxPoints {
		c.thin()
	}
}

func (c *curve) thin() {
	kept := c.points[:0]
	for i := 0; i < len(c.points)-1; i += 2 {
		kept = append(kept, c.points[i])
	}
	c.points = append(kept, c.points[len(c.points)-1])
	c.every *= 2
}

// curves are a run's metrics by name.
type curves map[string]*curve

func (c *curves) add(step int, metrics map[string]float64) {
	if *c == nil {
		*c = curves{}
	}
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		if (*c)[name] == nil {
			if len(*c) >= maxCurves {
				continue
			}
			(*c)[name] = &curve{}
		}
		(*c)[name].add(point{float64(step), metrics[name]})
	}
}

// series is one line of a chart.
type series struct {
	run    string // name, if several runs are compared
	part   string // train or validation
	points []point
}

// chart is one metric: a line for each run and part.
type chart struct {
	metric string
	axis   string // step or epoch
	lines  []series
}

// charts groups reported metrics by what they measure: val_loss is drawn in the chart of loss.
func (c curves) charts() []chart {
	var list []chart
	for _, name := range slices.Sorted(maps.Keys(c)) {
		metric, part := splitMetric(name)
		list = withLine(list, metric, "step", series{part: part, points: slices.Clone(c[name].points)})
	}
	return ordered(list)
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

func withLine(list []chart, metric, axis string, line series) []chart {
	at := slices.IndexFunc(list, func(c chart) bool { return c.metric == metric && c.axis == axis })
	if at < 0 {
		return append(list, chart{metric: metric, axis: axis, lines: []series{line}})
	}
	list[at].lines = append(list[at].lines, line)
	return list
}

// ordered sorts the loss first, then metrics by name, and learning rates and the like last.
func ordered(list []chart) []chart {
	rank := func(c chart) int {
		switch {
		case c.metric == "loss":
			return 0
		case strings.Contains(c.metric, "learning_rate"):
			return 2
		}
		return 1
	}
	slices.SortStableFunc(list, func(a, b chart) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.metric, b.metric), strings.Compare(a.axis, b.axis))
	})
	return list
}

// stepsOf returns all steps of some lines, in order.
func stepsOf(lines []series) []float64 {
	var steps []float64
	for _, line := range lines {
		for _, p := range line.points {
			steps = append(steps, p.step)
		}
	}
	slices.Sort(steps)
	return slices.Compact(steps)
}
