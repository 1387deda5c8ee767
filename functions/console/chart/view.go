package chart

import (
	"math"
	"net/url"
	"strconv"
	"strings"
)

// View is how the charts of a page are shown. It is a part of the page's address.
type View struct {
	Log    bool    // the vertical axis is logarithmic
	Smooth float64 // weight of the past, from 0 to below 1; 0: lines are not smoothed
	X      string  // horizontal axis; "": the one of each chart
	// The part of the horizontal axis that is shown, if From is less than To.
	From, To float64
}

// Horizontal axes of a View.
const (
	ByStep     = ""
	ByEpoch    = "epoch"
	ByRelative = "relative" // hours, minutes and seconds since the first point of a line
	ByWall     = "wall"
)

// MaxSmooth is the greatest weight of the past.
const MaxSmooth = 0.99

// ParseView reads a view from the query of an address: scale=log, smooth=0.6, x=relative and
// zoom=100~500. It ignores values that it does not know, as addresses are written by people too.
func ParseView(query url.Values) View {
	v := View{Log: query.Get("scale") == "log"}
	if weight, err := strconv.ParseFloat(query.Get("smooth"), 64); err == nil && weight > 0 {
		v.Smooth = math.Min(math.Round(weight*100)/100, MaxSmooth)
	}
	switch x := query.Get("x"); x {
	case ByEpoch, ByRelative, ByWall:
		v.X = x
	}
	from, to, _ := strings.Cut(query.Get("zoom"), "~")
	low, err := strconv.ParseFloat(from, 64)
	high, errHigh := strconv.ParseFloat(to, 64)
	if err == nil && errHigh == nil && finite(low) && finite(high) && low < high {
		v.From, v.To = low, high
	}
	return v
}

// Query returns the parts of an address that mean this view.
func (v View) Query() url.Values {
	query := url.Values{}
	if v.Log {
		query.Set("scale", "log")
	}
	if v.Smooth > 0 {
		query.Set("smooth", strconv.FormatFloat(v.Smooth, 'f', -1, 64))
	}
	if v.X != "" {
		query.Set("x", v.X)
	}
	if v.From < v.To {
		query.Set("zoom", strconv.FormatFloat(v.From, 'g', -1, 64)+"~"+strconv.FormatFloat(v.To, 'g', -1, 64))
	}
	return query
}

// Smoothed returns an exponential moving average of the points, as TensorBoard draws it:
//
//	s_t = w s_(t-1) + (1-w) y_t, divided by 1 - w^t
//
// The divisor removes the bias to s_0 = 0. Values that are not finite stay, and do not count.
func Smoothed(points []Point, weight float64) []Point {
	if weight <= 0 {
		return points
	}
	smoothed := make([]Point, len(points))
	average, left := 0.0, 1.0
	for i, p := range points {
		if finite(p.Value) {
			average, left = weight*average+(1-weight)*p.Value, left*weight
			p.Value = average / (1 - left)
		}
		smoothed[i] = p
	}
	return smoothed
}

// Constant returns the value of a chart whose points all have the same one; false for other charts.
func (c Chart) Constant() (value float64, ok bool) {
	for _, line := range c.Lines {
		for _, p := range line.Points {
			if ok && p.Value != value {
				return 0, false
			}
			value, ok = p.Value, true
		}
	}
	return value, ok && finite(value)
}

// HasTimes reports whether the time of every point is known.
func (c Chart) HasTimes() bool {
	for _, line := range c.Lines {
		for _, p := range line.Points {
			if p.Time <= 0 {
				return false
			}
		}
	}
	return true
}

// by returns the chart by the horizontal axis of a view. Without times it stays as it is.
func (c Chart) by(v View) Chart {
	if v.X != ByRelative && v.X != ByWall || !c.HasTimes() {
		return c
	}
	lines := make([]Series, len(c.Lines))
	for i, line := range c.Lines {
		start := 0.0
		if v.X == ByRelative {
			start = c.start(line.Run)
		}
		points := make([]Point, len(line.Points))
		for j, p := range line.Points {
			points[j] = Point{Step: math.Round((p.Time-start)*10) / 10, Value: p.Value, Time: p.Time}
		}
		lines[i] = line
		lines[i].Points = points
	}
	c.Axis, c.Lines = map[string]string{ByRelative: "time", ByWall: "wall time"}[v.X], lines
	return c
}

// AxisIn returns what the horizontal axis has in a view: step, epoch, time or wall time.
func (c Chart) AxisIn(v View) string { return c.by(v).Axis }

// start returns the time of the first point of a run.
func (c Chart) start(run string) float64 {
	first := math.Inf(1)
	for _, line := range c.Lines {
		if line.Run == run && len(line.Points) > 0 {
			first = min(first, line.Points[0].Time)
		}
	}
	return first
}

// finite reports whether a value can be drawn.
func finite(v float64) bool { return math.Abs(v) < 1e150 }
