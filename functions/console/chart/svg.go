package chart

import (
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// The size of a chart, in its own units.
const (
	chartWidth, chartHeight             = 560.0, 200.0
	marginLeft, marginRight             = 52.0, 10.0
	marginTop, marginBottom             = 10.0, 24.0
	sparkWidth, sparkHeight, sparkInset = 96.0, 22.0, 2.0
)

// scale maps values to a range of the picture.
type scale struct{ low, high, from, to float64 }

func (s scale) at(value float64) float64 {
	if s.high == s.low {
		return (s.from + s.to) / 2
	}
	return s.from + (value-s.low)/(s.high-s.low)*(s.to-s.from)
}

// extent returns the least and the greatest finite value; false if there is none.
func extent(lines []Series, of func(Point) float64) (low, high float64, ok bool) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, line := range lines {
		for _, p := range line.Points {
			if v := of(p); !math.IsNaN(v) && !math.IsInf(v, 0) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	return low, high, low <= high
}

func stepOf(p Point) float64  { return p.Step }
func valueOf(p Point) float64 { return p.Value }

// SVG returns the chart as a picture.
func (c Chart) SVG() template.HTML {
	x0, x1, ok := extent(c.Lines, stepOf)
	y0, y1, also := extent(c.Lines, valueOf)
	if !ok || !also {
		return ""
	}
	ticks := niceTicks(y0, y1, 4)
	y0, y1 = min(y0, ticks[0]), max(y1, ticks[len(ticks)-1])
	x := scale{x0, x1, marginLeft, chartWidth - marginRight}
	y := scale{y0, y1, chartHeight - marginBottom, marginTop}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="plot" viewBox="0 0 %g %g" role="img" aria-label="%s">`, chartWidth, chartHeight, escaped(c.label()))
	for _, tick := range ticks {
		fmt.Fprintf(&b, `<line class="grid" x1="%g" x2="%g" y1="%.1f" y2="%.1[3]f"/><text class="tick end" x="%g" y="%.1f">%s</text>`,
			marginLeft, chartWidth-marginRight, y.at(tick), marginLeft-6, y.at(tick)+3.5, Short(tick))
	}
	for _, tick := range niceTicks(x0, x1, 6) {
		if tick >= x0 && tick <= x1 {
			fmt.Fprintf(&b, `<text class="tick middle" x="%.1f" y="%g">%s</text>`, x.at(tick), chartHeight-8, Short(tick))
		}
	}
	for i, line := range c.Lines {
		b.WriteString(line.path(x, y, i))
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String()) // made of numbers and escaped text
}

func (c Chart) label() string {
	var ends []string
	for _, line := range c.Lines {
		if last := len(line.Points) - 1; last >= 0 {
			ends = append(ends, strings.TrimSpace(line.Name()+" "+Short(line.Points[last].Value)+" at "+c.Axis+" "+Short(line.Points[last].Step)))
		}
	}
	return c.Metric + " by " + c.Axis + ": " + strings.Join(ends, ", ")
}

// Name returns the name of the line in a legend.
func (s Series) Name() string { return strings.TrimSpace(s.Run + " " + s.Part) }

// lineClasses is how many colors lines have.
const lineClasses = 8

func (s Series) path(x, y scale, number int) string {
	if len(s.Points) == 1 {
		return fmt.Sprintf(`<circle class="dot l%d" cx="%.1f" cy="%.1f" r="3"/>`, number%lineClasses, x.at(s.Points[0].Step), y.at(s.Points[0].Value))
	}
	return fmt.Sprintf(`<path class="line l%d" d="%s"/>`, number%lineClasses, pathOf(thinned(s.Points, maxPathPoints), x, y))
}

// maxPathPoints is the number of points in a line of a picture: more can't be distinguished.
const maxPathPoints = 200

// thinned leaves out points evenly if there are more than most; the first and the last stay.
func thinned(points []Point, most int) []Point {
	every := (len(points) + most - 1) / most
	if every < 2 {
		return points
	}
	few := make([]Point, 0, most+1)
	for i := 0; i < len(points)-1; i += every {
		few = append(few, points[i])
	}
	return append(few, points[len(points)-1])
}

// pathOf leaves gaps where values are not finite.
func pathOf(points []Point, x, y scale) string {
	b, pen := make([]byte, 0, len(points)*12), byte('M')
	for _, p := range points {
		if math.IsNaN(p.Value) || math.IsInf(p.Value, 0) {
			pen = 'M'
			continue
		}
		b = append(b, pen)
		b = strconv.AppendFloat(b, x.at(p.Step), 'f', 1, 64)
		b = append(b, ' ')
		b = strconv.AppendFloat(b, y.at(p.Value), 'f', 1, 64)
		pen = 'L'
	}
	return string(b)
}

// Data returns the input of the chart library: the steps of all lines, and for each line a value or
// null at each. Values have as many digits as can be seen.
func (c Chart) Data() (string, error) {
	type label struct {
		Name string `json:"name"`
	}
	out := struct {
		Axis   string     `json:"axis"`
		Labels []label    `json:"labels"`
		Data   [][]figure `json:"data"`
	}{Axis: c.Axis}
	steps := stepsOf(c.Lines)
	place := make(map[float64]int, len(steps))
	row := make([]figure, len(steps))
	for i := range steps {
		row[i], place[steps[i]] = figure{steps[i], 15}, i
	}
	out.Data = append(out.Data, row)
	for _, line := range c.Lines {
		row := make([]figure, len(steps))
		for i := range row {
			row[i].value = math.NaN()
		}
		for _, p := range line.Points {
			row[place[p.Step]] = figure{p.Value, 6}
		}
		name := line.Name()
		if name == "" {
			name = c.Metric
		}
		out.Labels, out.Data = append(out.Labels, label{name}), append(out.Data, row)
	}
	text, err := json.Marshal(out)
	return string(text), err
}

// figure is a number in JSON, with so many digits; null if it is not finite.
type figure struct {
	value  float64
	digits int
}

func (f figure) MarshalJSON() ([]byte, error) {
	if math.IsNaN(f.value) || math.IsInf(f.value, 0) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, f.value, 'g', f.digits, 64), nil
}

// Spark returns a curve of the size of a word; "" for fewer than three points, whose line says
// nothing about the values in between.
func Spark(points []Point) template.HTML {
	if len(points) < 3 {
		return ""
	}
	points = thinned(points, 48)
	lines := []Series{{Points: points}}
	x0, x1, ok := extent(lines, stepOf)
	y0, y1, also := extent(lines, valueOf)
	if !ok || !also {
		return ""
	}
	x, y := scale{x0, x1, sparkInset, sparkWidth - sparkInset}, scale{y0, y1, sparkHeight - sparkInset, sparkInset}
	return template.HTML(fmt.Sprintf(`<svg class="spark" viewBox="0 0 %g %g" aria-hidden="true"><path d="%s"/></svg>`,
		sparkWidth, sparkHeight, pathOf(points, x, y)))
}

// niceTicks returns about n round numbers, from below low to above high.
func niceTicks(low, high float64, n int) []float64 {
	if low == high {
		return []float64{low}
	}
	rough := (high - low) / float64(n)
	unit := math.Pow(10, math.Floor(math.Log10(rough)))
	step := 10 * unit
	for _, m := range []float64{1, 2, 2.5, 5} {
		if m*unit >= rough {
			step = m * unit
			break
		}
	}
	var ticks []float64
	for i := math.Floor(low / step); i*step < high+step*0.999 && len(ticks) < 4*n; i++ {
		ticks = append(ticks, i*step)
	}
	return ticks
}
