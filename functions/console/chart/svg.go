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
	chartWidth, chartHeight             = 560.0, 210.0
	marginLeft, marginRight             = 52.0, 20.0
	marginTop, marginBottom             = 10.0, 24.0
	sparkWidth, sparkHeight, sparkInset = 96.0, 22.0, 2.0
)

// scale maps values to a range of the picture.
type scale struct {
	low, high, from, to float64
	log                 bool
}

func (s scale) at(value float64) float64 {
	low, high := s.low, s.high
	if s.log {
		low, high, value = math.Log10(low), math.Log10(high), math.Log10(value)
	}
	if high == low {
		return (s.from + s.to) / 2
	}
	return s.from + (value-low)/(high-low)*(s.to-s.from)
}

// shows reports whether a value has a place on the scale.
func (s scale) shows(value float64) bool { return finite(value) && (!s.log || value > 0) }

// extent returns the least and the greatest finite value; false if there is none.
func extent(lines []Series, of func(Point) float64) (low, high float64, ok bool) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, line := range lines {
		for _, p := range line.Points {
			if v := of(p); finite(v) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	return low, high, low <= high
}

func stepOf(p Point) float64  { return p.Step }
func valueOf(p Point) float64 { return p.Value }

// positive leaves out what a logarithmic scale can't show.
func positive(p Point) float64 {
	if p.Value > 0 {
		return p.Value
	}
	return math.NaN()
}

// SVG returns the chart as a picture, as it is.
func (c Chart) SVG() template.HTML { return c.Draw(View{}) }

// Draw returns the chart as a picture in a view.
func (c Chart) Draw(v View) template.HTML {
	c = c.by(v).within(v)
	x, y, ok := c.scales(v)
	if !ok {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="plot" viewBox="0 0 %g %g" role="img" aria-label="%s">`, chartWidth, chartHeight, escaped(c.label()))
	for _, tick := range y.ticks(4) {
		fmt.Fprintf(&b, `<line class="grid" x1="%g" x2="%g" y1="%.1f" y2="%.1[3]f"/><text class="tick end" x="%g" y="%.1f">%s</text>`,
			marginLeft, chartWidth-marginRight, y.at(tick), marginLeft-6, y.at(tick)+3.5, Short(tick))
	}
	for _, tick := range c.stepTicks(x) {
		fmt.Fprintf(&b, `<text class="tick middle" x="%.1f" y="%g">%s</text>`, x.at(tick.at), chartHeight-8, tick.text)
	}
	for _, line := range c.Lines {
		if v.Smooth > 0 && len(line.Points) > 2 && !line.Dots {
			b.WriteString(line.path(x, y, " faint"))
			line.Points = Smoothed(line.Points, v.Smooth)
		}
		b.WriteString(line.path(x, y, ""))
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String()) // made of numbers and escaped text
}

// within leaves out points that are beyond the part of the axis that a view shows.
func (c Chart) within(v View) Chart {
	if v.From >= v.To {
		return c
	}
	lines := make([]Series, len(c.Lines))
	for i, line := range c.Lines {
		var points []Point
		for _, p := range line.Points {
			if p.Step >= v.From && p.Step <= v.To {
				points = append(points, p)
			}
		}
		lines[i] = line
		lines[i].Points = points
	}
	if _, _, any := extent(lines, stepOf); !any {
		return c // the part of another chart
	}
	c.Lines = lines
	return c
}

// scales returns those of the chart; false if it has nothing to show. A chart without a value above
// 0 has no logarithmic scale.
func (c Chart) scales(v View) (x, y scale, ok bool) {
	x0, x1, ok := extent(c.Lines, stepOf)
	y0, y1, also := extent(c.Lines, valueOf)
	if !ok || !also {
		return x, y, false
	}
	x = scale{low: x0, high: x1, from: marginLeft, to: chartWidth - marginRight}
	y = scale{low: y0, high: y1, from: chartHeight - marginBottom, to: marginTop}
	if low, high, any := extent(c.Lines, positive); v.Log && any {
		y.low, y.high, y.log = low, high, true
	}
	if ticks := y.ticks(4); len(ticks) > 0 {
		y.low, y.high = min(y.low, ticks[0]), max(y.high, ticks[len(ticks)-1])
	}
	return x, y, true
}

func (c Chart) label() string {
	var ends []string
	for _, line := range c.Lines {
		if last := len(line.Points) - 1; last >= 0 {
			ends = append(ends, strings.TrimSpace(line.Name()+" "+Short(line.Points[last].Value)+" at "+c.Axis+" "+c.stepText(line.Points[last].Step)))
		}
	}
	if most := 8; len(ends) > most {
		ends = append(ends[:most], fmt.Sprintf("and %d more lines", len(c.Lines)-most))
	}
	return c.Metric + " by " + c.Axis + ": " + strings.Join(ends, ", ")
}

// Name returns the name of the line in a legend.
func (s Series) Name() string { return strings.TrimSpace(s.Run + " " + s.Part) }

// Colors is how many colors lines have. Beyond these, they begin again with a thinner line.
const Colors = 10

// Class returns the classes of the line in the style sheet: its color, and dashed for the
// validation of a run.
func (s Series) Class() string {
	class := "l" + strconv.Itoa(s.Color%Colors)
	if s.Color >= Colors {
		class += " thin"
	}
	if s.Part == "validation" {
		class += " dashed"
	}
	return class
}

// path returns the line's element. A single point is a circle. The points of a line of dots are
// ends of strokes without length: one element, where a circle each would slow the page down.
func (s Series) path(x, y scale, more string) string {
	points := thinned(s.Points, maxPathPoints)
	switch {
	case s.Dots:
		return fmt.Sprintf(`<path class="dots %s" d="%s"/>`, s.Class(), dotsOf(points, x, y))
	case len(points) > 1:
		return fmt.Sprintf(`<path class="line %s%s" d="%s"/>`, s.Class(), more, pathOf(points, x, y))
	case len(points) == 1 && y.shows(points[0].Value):
		return fmt.Sprintf(`<circle class="dot %s" cx="%.1f" cy="%.1f" r="3"/>`, s.Class(), x.at(points[0].Step), y.at(points[0].Value))
	}
	return ""
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

// pathOf leaves gaps where values can't be shown.
func pathOf(points []Point, x, y scale) string {
	b, pen := make([]byte, 0, len(points)*12), byte('M')
	for _, p := range points {
		if !y.shows(p.Value) {
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

// dotsOf leaves out values that can't be shown.
func dotsOf(points []Point, x, y scale) string {
	var b strings.Builder
	for _, p := range points {
		if y.shows(p.Value) {
			fmt.Fprintf(&b, "M%.1f %.1fh0", x.at(p.Step), y.at(p.Value))
		}
	}
	return b.String()
}

// plotted is a chart for the script that draws it: lines with their classes, and the steps of each,
// which lines of the same steps share.
type plotted struct {
	Metric string        `json:"metric"`
	Axis   string        `json:"axis"`
	X      [][]figure    `json:"x"`
	Lines  []plottedLine `json:"lines"`
}

type plottedLine struct {
	Name  string   `json:"name"`
	Class string   `json:"class"`
	Dots  bool     `json:"dots,omitempty"`
	X     int      `json:"x"`
	Y     []figure `json:"y"`
}

// Data returns the chart in a view as JSON for the script that draws it. Values have as many digits
// as can be seen.
func (c Chart) Data(v View) (string, error) {
	c = c.by(v)
	out, known := plotted{Metric: c.Metric, Axis: c.Axis, X: [][]figure{}, Lines: []plottedLine{}}, map[string]int{}
	for _, line := range c.Lines {
		drawn := plottedLine{Name: line.Name(), Class: line.Class(), Dots: line.Dots, Y: []figure{}}
		steps := make([]figure, len(line.Points))
		for i, p := range line.Points {
			steps[i] = figure{p.Step, 15}
			drawn.Y = append(drawn.Y, figure{p.Value, 6})
		}
		text, err := json.Marshal(steps)
		if err != nil {
			return "", err
		}
		at, shared := known[string(text)]
		if !shared {
			at = len(out.X)
			known[string(text)], out.X = at, append(out.X, steps)
		}
		if drawn.X = at; drawn.Name == "" {
			drawn.Name = c.Metric
		}
		out.Lines = append(out.Lines, drawn)
	}
	text, err := json.Marshal(out)
	return string(text), err
}

// figure is a number in JSON, with so many digits; null if it can't be drawn.
type figure struct {
	value  float64
	digits int
}

func (f figure) MarshalJSON() ([]byte, error) {
	if !finite(f.value) {
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
	x, y := scale{low: x0, high: x1, from: sparkInset, to: sparkWidth - sparkInset}, scale{low: y0, high: y1, from: sparkHeight - sparkInset, to: sparkInset}
	return template.HTML(fmt.Sprintf(`<svg class="spark" viewBox="0 0 %g %g" aria-hidden="true"><path d="%s"/></svg>`,
		sparkWidth, sparkHeight, pathOf(points, x, y)))
}
