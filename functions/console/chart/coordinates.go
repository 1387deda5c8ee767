package chart

import (
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"

	"github.com/stoker-ml/stoker/compute/tune/report"
)

// The size of parallel coordinates, in their own units: with axes side by side, and for narrow
// windows with axes below each other.
const (
	coordsWidth, coordsHeight = 1100.0, 300.0
	coordsTop, coordsBottom   = 34.0, 276.0
	coordsSide                = 60.0
	tallWidth, tallRow        = 360.0, 62.0
	tallTop, tallSide         = 26.0, 14.0
	// Limits for parameters, the most important first; the score is one more axis.
	maxAxes, maxTallAxes = 9, 5
	// Positions on an axis that lines have.
	axisUnits = 999
)

// Thousands of lines are too many for a document, but not for a canvas: a page has the axes as SVG,
// and the lines as numbers that its script draws behind them, a part at a time. Without scripts,
// Picture is shown.

// Coordinates are parallel coordinates as a page needs them.
type Coordinates struct {
	Wide, Tall template.HTML // the axes
	// Positions of the axes, and after ";" where their lower and their upper ends are.
	WideAt, TallAt string
	// The axes as JSON: name, whether it is logarithmic, its range or words.
	Axes    string
	Data    template.URL // of what Study.Lines returns
	Picture template.URL // the complete picture
	Label   string
	Note    string
}

// Axes returns what parallel coordinates show: the most important parameters, and the score.
func (c *Study) Axes() []*Dimension {
	if len(c.Scores) == 0 {
		return nil
	}
	axes := append([]*Dimension{}, c.Parameters[:min(maxAxes, len(c.Parameters))]...)
	return append(axes, c.Scores[0])
}

// tall returns the indices of the axes in a narrow window.
func tall(axes []*Dimension) (list []int) {
	for i := range axes {
		if i < maxTallAxes || i == len(axes)-1 {
			list = append(list, i)
		}
	}
	return list
}

// Coordinates returns the drawing of all trials that have a score; nil if there are too few.
func (c *Study) Coordinates() *Coordinates {
	axes := c.Axes()
	if len(c.sorted) < 2 || len(axes) < 2 {
		return nil
	}
	v := &Coordinates{Label: coordinatesLabel(axes, len(c.sorted))}
	if hidden := len(c.Parameters) - maxAxes; hidden > 0 {
		v.Note = fmt.Sprintf("%d less important parameters are left out.", hidden)
	}
	var wide strings.Builder
	fmt.Fprintf(&wide, `<svg class="coords wide" viewBox="0 0 %g %g" aria-hidden="true"><path class="chosen" d=""/>`, coordsWidth, coordsHeight)
	at := make([]string, len(axes))
	for i, axis := range axes {
		x := wideX(i, len(axes))
		at[i] = strconv.FormatFloat(x, 'f', 0, 64)
		axis.drawWide(&wide, x)
	}
	wide.WriteString(`</svg>`)
	v.Wide = template.HTML(wide.String()) // made of numbers and escaped text
	v.WideAt = fmt.Sprintf("%s;%g,%g", strings.Join(at, ","), coordsBottom, coordsTop)
	v.addTall(axes)
	v.Axes = axesJSON(axes)
	return v
}

// Lines returns the lines of parallel coordinates by shade, the worst first, separated by ";". A
// line has its positions on the axes from 0 to axisUnits, "" if it has none.
func (c *Study) Lines() string {
	axes := c.Axes()
	if len(axes) == 0 {
		return ""
	}
	var lines strings.Builder
	c.byShade(func(i int) string { return lineThrough(axes, i) }, func(shade int, all []string) {
		if shade > 0 {
			lines.WriteByte(';')
		}
		lines.WriteString(strings.Join(all, " "))
	})
	return lines.String()
}

func coordinatesLabel(axes []*Dimension, trials int) string {
	var names []string
	for _, axis := range axes {
		names = append(names, axis.Name)
	}
	return fmt.Sprintf("Parallel coordinates of %d trials over %s", trials, strings.Join(names, ", "))
}

// addTall adds the axes for narrow windows; the others have no position there.
func (v *Coordinates) addTall(axes []*Dimension) {
	list := tall(axes)
	at := make([]string, len(axes))
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="coords tall" viewBox="0 0 %g %g" aria-hidden="true"><path class="chosen" d=""/>`, tallWidth, tallTop+tallRow*float64(len(list)-1)+30)
	for row, i := range list {
		y := tallTop + tallRow*float64(row)
		at[i] = strconv.FormatFloat(y, 'f', 0, 64)
		axes[i].drawTall(&b, y)
	}
	b.WriteString(`</svg>`)
	v.Tall = template.HTML(b.String()) // made of numbers and escaped text
	v.TallAt = fmt.Sprintf("%s;%g,%g", strings.Join(at, ","), tallSide, tallWidth-tallSide)
}

// axisJSON is an axis as the page's script needs it.
type axisJSON struct {
	Name  string   `json:"name"`
	Log   bool     `json:"log,omitempty"`
	Low   float64  `json:"low"`
	High  float64  `json:"high"`
	Words []string `json:"words,omitempty"`
}

func axesJSON(axes []*Dimension) string {
	list := make([]axisJSON, len(axes))
	for i, axis := range axes {
		list[i] = axisJSON{axis.Name, axis.Log, axis.Low, axis.High, axis.Words}
	}
	text, err := json.Marshal(list)
	if err != nil {
		return "[]" // impossible: ranges are finite
	}
	return string(text)
}

func wideX(i, n int) float64 {
	return coordsSide + float64(i)*(coordsWidth-2*coordsSide)/float64(max(1, n-1))
}

// byShade yields the trials that have a score by shade: trials of about equal rank together.
func (c *Study) byShade(draw func(row int) string, yield func(shade int, lines []string)) {
	lines := make([][]string, shades)
	for rank, i := range c.sorted {
		shade := shades - 1 - shadeOf(rank, len(c.sorted))
		lines[shade] = append(lines[shade], draw(i))
	}
	for shade := range lines {
		yield(shade, lines[shade])
	}
}

// Line returns where the line of a row crosses the axes.
func (c *Study) Line(i int) string { return lineThrough(c.Axes(), i) }

func lineThrough(axes []*Dimension, i int) string {
	b := make([]byte, 0, len(axes)*4)
	for k, axis := range axes {
		if k > 0 {
			b = append(b, ',')
		}
		if at := axis.at[i]; !math.IsNaN(at) {
			b = strconv.AppendInt(b, int64(math.Round(at*axisUnits)), 10)
		}
	}
	return string(b)
}

// Columns returns the names of the parameters that a table shows.
func (c *Study) Columns() (names []string) {
	for _, d := range c.Parameters[:min(maxAxes, len(c.Parameters))] {
		names = append(names, d.Name)
	}
	return names
}

// Picture returns parallel coordinates as a picture of their own.
func (c *Study) Picture() string {
	axes := c.Axes()
	if len(c.sorted) < 2 || len(axes) < 2 {
		return ""
	}
	p := newPicture("parallel", coordsWidth, coordsHeight, coordinatesLabel(axes, len(c.sorted)))
	draw := func(i int) string { return string(widePath(axes, i)) }
	c.byShade(draw, func(shade int, lines []string) {
		if len(lines) > 0 {
			fmt.Fprintf(p, `<path class="lines s%d" stroke-opacity="%.2f" d="%s"/>`, shade, 0.25+0.75*float64(shade)/(shades-1), strings.Join(lines, ""))
		}
	})
	for i, axis := range axes {
		axis.drawWide(&p.Builder, wideX(i, len(axes)))
	}
	return p.done()
}

// widePath returns a row's line through all axes, with gaps where it has no value.
func widePath(axes []*Dimension, i int) (d []byte) {
	pen := byte('M')
	for k, axis := range axes {
		at := axis.at[i]
		if math.IsNaN(at) {
			pen = 'M'
			continue
		}
		d = appendSpot(d, pen, math.Round(wideX(k, len(axes))), math.Round(coordsBottom-at*(coordsBottom-coordsTop)))
		pen = 'L'
	}
	return d
}

func (d *Dimension) drawWide(b *strings.Builder, x float64) {
	fmt.Fprintf(b, `<line class="axis" x1="%g" x2="%[1]g" y1="%[2]g" y2="%[3]g"/><text class="axis-name name middle" x="%[1]g" y="16">%[4]s<title>%[5]s</title></text>`,
		x, coordsTop, coordsBottom, escaped(cut(d.Name, 17)), escaped(d.Name))
	for _, tick := range d.ticks(5) {
		fmt.Fprintf(b, `<text class="tick" x="%g" y="%.1f">%s</text>`, x+5, coordsBottom-tick.at*(coordsBottom-coordsTop)+3.5, escaped(cut(tick.text, 12)))
	}
}

func (d *Dimension) drawTall(b *strings.Builder, y float64) {
	fmt.Fprintf(b, `<line class="axis" x1="%g" x2="%g" y1="%[3]g" y2="%[3]g"/><text class="axis-name" x="%[1]g" y="%.1f">%[5]s<title>%[6]s</title></text>`,
		tallSide, tallWidth-tallSide, y, y-9, escaped(cut(d.Name, 40)), escaped(d.Name))
	ticks := d.ticks(4)
	for _, tick := range ticks {
		fmt.Fprintf(b, `<text class="tick middle" x="%.1f" y="%.1f">%s</text>`, tallSide+tick.at*(tallWidth-2*tallSide), y+15, escaped(cut(tick.text, max(3, 44/max(1, len(ticks))))))
	}
}

// Rows returns the study's trials, in the order of their numbers.
func (c *Study) Rows() []report.Row { return c.Report.Trials }
