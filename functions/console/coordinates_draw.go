package console

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"

	"github.com/stoker-ml/stoker/compute/tune/report"
)

// Thousands of lines are too many for a document, but not for a canvas: a page has the axes as SVG,
// and the lines as numbers that its script draws behind them, a part at a time. Without scripts,
// picture is shown.

// coordsView has parallel coordinates as a page needs them.
type coordsView struct {
	Axes template.HTML
	X    string // positions of the axes
	// By shade, the worst first, separated by ";"; for each line where it crosses the axes, "" if
	// it does not.
	Lines   string
	Picture template.URL // the complete picture
	Label   string
	Note    string
}

// view returns the drawing of all trials that have a score; nil if there are too few.
func (a *axes) view(rows []report.Row) *coordsView {
	if len(a.ranks) < 2 || len(a.list) < 2 {
		return nil
	}
	v := &coordsView{Label: a.label(), Axes: a.axes("coords")}
	if a.hidden > 0 {
		v.Note = fmt.Sprintf("%d parameters that explain least are left out.", a.hidden)
	}
	var x []string
	for i := range a.list {
		x = append(x, strconv.FormatFloat(a.list[i].x, 'f', 0, 64))
	}
	v.X = strings.Join(x, ",")
	a.byShade(rows, func(row report.Row) string { return a.crossings(row) }, func(shade int, lines []string) {
		if shade > 0 {
			v.Lines += ";"
		}
		v.Lines += strings.Join(lines, " ")
	})
	return v
}

func (a *axes) label() string {
	return fmt.Sprintf("Parallel coordinates of %d trials over %s", len(a.ranks), strings.Join(a.names(), ", "))
}

// byShade draws the trials that have a score, and yields the lines by shade: trials of about equal
// rank together.
func (a *axes) byShade(rows []report.Row, draw func(report.Row) string, yield func(shade int, lines []string)) {
	lines := make([][]string, shades)
	for _, row := range rows {
		if rank, scored := a.ranks[row.Trial]; scored {
			shade := shades - 1 - rank*shades/len(a.ranks)
			lines[shade] = append(lines[shade], draw(row))
		}
	}
	for shade := range lines {
		yield(shade, lines[shade])
	}
}

// crossings returns where a row crosses the axes, to one unit.
func (a *axes) crossings(row report.Row) string {
	b := make([]byte, 0, len(a.list)*4)
	for i := range a.list {
		if i > 0 {
			b = append(b, ',')
		}
		if y, there := a.list[i].y(row); there {
			b = strconv.AppendInt(b, int64(math.Round(y)), 10)
		}
	}
	return string(b)
}

// axes returns the picture without the trials' lines, with an empty line for the selected one.
func (a *axes) axes(class string) template.HTML {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="%s" viewBox="0 0 %g %g" aria-hidden="true"><path class="chosen" d=""/>`, class, coordsWidth, coordsHeight)
	for i := range a.list {
		a.list[i].draw(&b)
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String()) // made of numbers and escaped text
}

// pictureStyle is the style of a stand-alone picture, to which the page's style sheet does not
// apply.
const pictureStyle = `<style>text{font:11px sans-serif;fill:#555}.axis-name{font-weight:600;text-anchor:middle}.axis{stroke:#888}path{fill:none;stroke:#2563b5;stroke-width:.6}` +
	`@media(prefers-color-scheme:dark){text{fill:#bbb}path{stroke:#7fb2ff}}</style>`

// picture returns the complete stand-alone picture.
func (a *axes) picture(rows []report.Row) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g">%s`, coordsWidth, coordsHeight, pictureStyle)
	a.byShade(rows, a.path, func(shade int, lines []string) {
		if len(lines) > 0 {
			fmt.Fprintf(&b, `<path stroke-opacity="%.2f" d="%s"/>`, 0.15+0.85*float64(shade)/(shades-1), strings.Join(lines, ""))
		}
	})
	for i := range a.list {
		a.list[i].draw(&b)
	}
	b.WriteString(`</svg>`)
	return b.String()
}

func (a *axis) draw(b *strings.Builder) {
	fmt.Fprintf(b, `<line class="axis" x1="%g" x2="%[1]g" y1="%[2]g" y2="%[3]g"/><text class="axis-name" x="%[1]g" y="16">%[4]s<title>%[5]s</title></text>`,
		a.x, coordsTop, coordsHeight-coordsBottom, escaped(cut(a.name, 17)), escaped(a.name))
	for _, tick := range a.ticks() {
		fmt.Fprintf(b, `<text class="tick" x="%g" y="%.1f">%s</text>`, a.x+5, tick.at+3.5, escaped(cut(tick.text, 12)))
	}
}

type axisTick struct {
	at   float64
	text string
}

func (a *axis) ticks() (ticks []axisTick) {
	if a.words != nil {
		every := 1 + len(a.words)/12
		for i := 0; i < len(a.words); i += every {
			ticks = append(ticks, axisTick{a.scale.at(float64(i)), a.words[i]})
		}
		return ticks
	}
	for _, part := range []float64{0, 0.25, 0.5, 0.75, 1} {
		v := a.scale.low + part*(a.scale.high-a.scale.low)
		text := v
		if a.log {
			text = math.Exp(v)
		}
		ticks = append(ticks, axisTick{a.scale.at(v), short(roundTo(text, 3))})
		if a.scale.low == a.scale.high {
			break
		}
	}
	return ticks
}

func cut(text string, most int) string {
	if letters := []rune(text); len(letters) > most {
		return string(letters[:most-1]) + "…"
	}
	return text
}
