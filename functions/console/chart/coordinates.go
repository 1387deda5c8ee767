package chart

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/report"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// The size of parallel coordinates, in their own units.
const (
	coordsHeight, coordsTop, coordsBottom = 300.0, 34.0, 24.0
	coordsWidth, coordsSide               = 1100.0, 60.0
	// Limit for parameters, those that explain most first; the score is one more axis.
	maxAxes = 9
	shades  = 10 // shades of lines, by rank
)

// Coordinates are parallel coordinates of a study: one for each parameter, and the score's at the
// right.
type Coordinates struct {
	list      []axis
	direction tune.Direction
	hidden    int // number of parameters that are not drawn
	ranks     map[string]int
}

// axis is one axis.
type axis struct {
	name   string
	log    bool
	words  []string // values of an axis that are not numbers
	scale  scale
	x      float64
	figure func(report.Row) (any, bool)
}

func CoordinatesOf(s *tune.Study, rows []report.Row, importance []report.Importance) Coordinates {
	a := Coordinates{direction: tune.Min}
	if len(s.Config.Objectives) > 0 {
		a.direction = s.Config.Objectives[0].Direction
	}
	for _, name := range parameterNames(s, importance) {
		if len(a.list) == maxAxes {
			a.hidden++
			continue
		}
		a.list = append(a.list, axis{name: name, log: isLog(s, name), figure: func(row report.Row) (any, bool) { return row.Values.Lookup(name) }})
	}
	score := "score"
	if len(s.Config.Objectives) > 0 {
		score = s.Config.Objectives[0].Name
	}
	a.list = append(a.list, axis{name: score, figure: func(row report.Row) (any, bool) {
		if row.Score == nil {
			return nil, false
		}
		return *row.Score, true
	}})
	for i := range a.list {
		a.list[i].x = coordsSide + float64(i)*(coordsWidth-2*coordsSide)/float64(max(1, len(a.list)-1))
		a.list[i].fit(rows)
	}
	a.rank(rows)
	return a
}

// parameterNames returns the parameters of a search, each once: those that explain most first.
func parameterNames(s *tune.Study, importance []report.Importance) (names []string) {
	for _, one := range importance {
		names = append(names, one.Parameter)
	}
	for _, p := range s.Config.Space {
		if p.Kind != space.Fixed && !slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
	}
	return names
}

func isLog(s *tune.Study, name string) bool {
	return slices.ContainsFunc(s.Config.Space, func(p space.Parameter) bool { return p.Name == name && p.Sampling == space.Log })
}

// fit sets the range of the axis. A score that is an outlier is drawn at the end of the axis.
func (a *axis) fit(rows []report.Row) {
	low, high, words := math.Inf(1), math.Inf(-1), map[string]bool{}
	numbers := true
	for _, row := range rows {
		value, there := a.figure(row)
		if !there {
			continue
		}
		words[ValueText(value)] = true
		if v, ok := report.Number(value); !ok {
			numbers = false
		} else if !math.IsInf(v, 0) && !math.IsNaN(v) {
			low, high = min(low, v), max(high, v)
		}
	}
	bottom, top := coordsHeight-coordsBottom, coordsTop
	if !numbers {
		for word := range words {
			a.words = append(a.words, word)
		}
		slices.Sort(a.words)
		a.scale = scale{0, float64(max(1, len(a.words)-1)), bottom, top}
		return
	}
	if a.log = a.log && low > 0; a.log {
		low, high = math.Log(low), math.Log(high)
	}
	a.scale = scale{low, high, bottom, top}
}

// y returns where a row crosses the axis; false if it has no value there.
func (a *axis) y(row report.Row) (float64, bool) {
	value, there := a.figure(row)
	if !there {
		return 0, false
	}
	if a.words != nil {
		return a.scale.at(float64(slices.Index(a.words, ValueText(value)))), true
	}
	v, _ := report.Number(value)
	if a.log {
		v = math.Log(v)
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, false
	}
	return a.scale.at(v), true
}

// rank orders the trials that have a score, the best first.
func (a *Coordinates) rank(rows []report.Row) {
	scored := slices.DeleteFunc(slices.Clone(rows), func(row report.Row) bool { return row.Score == nil })
	slices.SortStableFunc(scored, a.Compare)
	a.ranks = make(map[string]int, len(scored))
	for i, row := range scored {
		a.ranks[row.Trial] = i
	}
}

// Compare sorts the better score first, and trials without one last.
func (a *Coordinates) Compare(one, other report.Row) int {
	switch {
	case one.Score == nil || other.Score == nil:
		return cmp.Compare(btoi(one.Score == nil), btoi(other.Score == nil))
	case a.direction == tune.Max:
		return cmp.Compare(*other.Score, *one.Score)
	}
	return cmp.Compare(*one.Score, *other.Score)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Path returns a row's line through all axes, with gaps where it has no value.
func (a *Coordinates) Path(row report.Row) string {
	b, pen := make([]byte, 0, len(a.list)*12), byte('M')
	for i := range a.list {
		y, there := a.list[i].y(row)
		if !there {
			pen = 'M'
			continue
		}
		b = append(b, pen)
		b = strconv.AppendFloat(b, a.list[i].x, 'f', 0, 64)
		b = append(b, ' ')
		b = strconv.AppendFloat(b, y, 'f', 1, 64)
		pen = 'L'
	}
	return string(b)
}

// Names returns the names of the parameters that are drawn.
func (a *Coordinates) Names() (names []string) {
	for _, one := range a.list[:len(a.list)-1] {
		names = append(names, one.name)
	}
	return names
}

// Thousands of lines are too many for a document, but not for a canvas: a page has the axes as SVG,
// and the lines as numbers that its script draws behind them, a part at a time. Without scripts,
// Picture is shown.

// CoordinatesView has parallel coordinates as a page needs them.
type CoordinatesView struct {
	Axes template.HTML
	X    string // positions of the axes
	// By shade, the worst first, separated by ";"; for each line where it crosses the axes, "" if
	// it does not.
	Lines   string
	Picture template.URL // the complete picture
	Label   string
	Note    string
}

// View returns the drawing of all trials that have a score; nil if there are too few.
func (a *Coordinates) View(rows []report.Row) *CoordinatesView {
	if len(a.ranks) < 2 || len(a.list) < 2 {
		return nil
	}
	v := &CoordinatesView{Label: a.label(), Axes: a.axes("coords")}
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

func (a *Coordinates) label() string {
	return fmt.Sprintf("Parallel coordinates of %d trials over %s", len(a.ranks), strings.Join(a.Names(), ", "))
}

// byShade draws the trials that have a score, and yields the lines by shade: trials of about equal
// rank together.
func (a *Coordinates) byShade(rows []report.Row, draw func(report.Row) string, yield func(shade int, lines []string)) {
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
func (a *Coordinates) crossings(row report.Row) string {
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
func (a *Coordinates) axes(class string) template.HTML {
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
const pictureStyle = `<style>text{font:11px sans-serif;fill:#555}.Axis-name{font-weight:600;text-anchor:middle}.Axis{stroke:#888}path{fill:none;stroke:#2563b5;stroke-width:.6}` +
	`@media(prefers-color-scheme:dark){text{fill:#bbb}path{stroke:#7fb2ff}}</style>`

// Picture returns the complete stand-alone picture.
func (a *Coordinates) Picture(rows []report.Row) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g">%s`, coordsWidth, coordsHeight, pictureStyle)
	a.byShade(rows, a.Path, func(shade int, lines []string) {
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
		ticks = append(ticks, axisTick{a.scale.at(v), Short(Round(text, 3))})
		if a.scale.low == a.scale.high {
			break
		}
	}
	return ticks
}
