package chart

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// picture is an SVG that is being written. It stands alone, as an image; a page may also put it
// into itself without its style, because the style sheet of the console has the same classes.
type picture struct {
	strings.Builder
	width, height float64
}

// Style is the style of a stand-alone picture of a study. The console's style sheet has its rules
// too.
const Style = StyleColors + StyleRules

// StyleColors are the colors of Style, light and dark.
const StyleColors = `:root{--text:#1d1c1a;--muted:#5f5d58;--line:#e4e3de;--card:#fff;--l0:#2563b5;--l1:#c2560c;--shade-low:#c9d6e8;--shade-high:#12386e;` +
	`--good:#1d6b3a;--bad:#a31b1b;--busy:#1a56a8;--wait:#6b5300}` +
	`@media(prefers-color-scheme:dark){:root{--text:#ebe9e4;--muted:#a6a29a;--line:#34322f;--card:#1e1d1b;--l0:#7fb2ff;--l1:#ff9f5f;--shade-low:#2d3646;--shade-high:#a8ccff;` +
	`--good:#7fd3a0;--bad:#ff9a94;--busy:#8fbdff;--wait:#e5c66b}}`

// StyleRules are the rules of Style, one a line.
const StyleRules = `
.study-plot .grid { stroke: var(--line); stroke-width: 1; }
.study-plot text { fill: var(--muted); font: 11px system-ui, sans-serif; font-variant-numeric: tabular-nums; }
.study-plot .end { text-anchor: end; }
.study-plot .middle { text-anchor: middle; }
.study-plot .name { fill: var(--text); font-weight: 600; }
.study-plot .axis { stroke: var(--muted); stroke-width: 1; }
.study-plot .points { fill: none; stroke-width: 5; stroke-linecap: round; stroke-opacity: .8; }
.study-plot .points.few { stroke-width: 7; }
.study-plot .lines { fill: none; stroke-width: 1.2; stroke-linejoin: round; }
.study-plot .lines.strong { stroke-width: 2; }
.study-plot .front { fill: none; stroke: var(--l1); stroke-width: 1.6; }
.study-plot .best { fill: none; stroke: var(--l1); stroke-width: 9; stroke-linecap: round; }
.study-plot .best.core { stroke: var(--card); stroke-width: 4; }
.study-plot .field { stroke-width: .8; fill: currentColor; }
.study-plot .s0 { stroke: color-mix(in oklab, var(--shade-high) 8%, var(--shade-low)); color: color-mix(in oklab, var(--shade-high) 8%, var(--shade-low)); }
.study-plot .s1 { stroke: color-mix(in oklab, var(--shade-high) 18%, var(--shade-low)); color: color-mix(in oklab, var(--shade-high) 18%, var(--shade-low)); }
.study-plot .s2 { stroke: color-mix(in oklab, var(--shade-high) 29%, var(--shade-low)); color: color-mix(in oklab, var(--shade-high) 29%, var(--shade-low)); }
.study-plot .s3 { stroke: color-mix(in oklab, var(--shade-high) 40%, var(--shade-low)); color: color-mix(in oklab, var(--shade-high) 40%, var(--shade-low)); }
.study-plot .s4 { stroke: color-mix(in oklab, var(--shade-high) 50%, var(--shade-low)); color: color-mix(in oklab, var(--shade-high) 50%, var(--shade-low)); }
.study-plot .s5 { stroke: color-mix(in oklab, var(--shade-high) 60%, var(--shade-low)); color: color-mix(in oklab, var(--shade-high) 60%, var(--shade-low)); }
.study-plot .s6 { stroke: color-mix(in oklab, var(--shade-high) 70%, var(--shade-low)); color: color-mix(in oklab, var(--shade-high) 70%, var(--shade-low)); }
.study-plot .s7 { stroke: color-mix(in oklab, var(--shade-high) 80%, var(--shade-low)); color: color-mix(in oklab, var(--shade-high) 80%, var(--shade-low)); }
.study-plot .s8 { stroke: color-mix(in oklab, var(--shade-high) 90%, var(--shade-low)); color: color-mix(in oklab, var(--shade-high) 90%, var(--shade-low)); }
.study-plot .s9 { stroke: var(--shade-high); color: var(--shade-high); }
.study-plot .bar { stroke: none; fill: var(--good); }
.study-plot .bar.stopped, .study-plot .bar.breaks-constraints { fill: color-mix(in oklab, var(--wait) 55%, var(--card)); }
.study-plot .bar.failed { fill: var(--bad); }
.study-plot .bar.running { fill: var(--busy); }
.study-plot .bar.infeasible, .study-plot .bar.cut-short, .study-plot .bar.to-be-retried { fill: var(--muted); }
`

// shades is the number of classes s0 to s9, from weak to strong.
const shades = 10

// newPicture begins a picture of a kind, which is a class of its own. The label is its text for
// readers who can't see it.
func newPicture(kind string, width, height float64, label string) *picture {
	p := &picture{width: width, height: height}
	fmt.Fprintf(p, `<svg xmlns="http://www.w3.org/2000/svg" class="study-plot %s" viewBox="0 0 %g %g" role="img" aria-label="%s"><style>%s</style>`,
		kind, width, height, escaped(label), escaped(Style))
	return p
}

// done returns the whole picture.
func (p *picture) done() string {
	p.WriteString(`</svg>`)
	return p.String()
}

func (p *picture) text(class string, x, y float64, text string) {
	fmt.Fprintf(p, `<text class="%s" x="%.1f" y="%.1f">%s</text>`, class, x, y, escaped(text))
}

// named writes a text that is cut to a number of letters, and has the whole one as its title.
func (p *picture) named(class string, x, y float64, text string, most int) {
	short := cut(text, most)
	if short == text {
		p.text(class, x, y, text)
		return
	}
	fmt.Fprintf(p, `<text class="%s" x="%.1f" y="%.1f">%s<title>%s</title></text>`, class, x, y, escaped(short), escaped(text))
}

func (p *picture) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(p, `<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, class, x1, y1, x2, y2)
}

// area is the part of a picture in which values are drawn.
type area struct{ left, top, right, bottom float64 }

func (a area) x(at float64) float64 { return a.left + at*(a.right-a.left) }
func (a area) y(at float64) float64 { return a.bottom - at*(a.bottom-a.top) }

// axes draws the grid and the labels of an area.
func (p *picture) axes(a area, x, y *Dimension, nx, ny int) {
	for _, tick := range y.ticks(ny) {
		p.line("grid", a.left, a.y(tick.at), a.right, a.y(tick.at))
		p.named("end", a.left-6, a.y(tick.at)+3.5, tick.text, 9)
	}
	room := int((a.right - a.left) / 7 / float64(max(1, min(nx, max(1, len(x.Words))))))
	for _, tick := range x.ticks(nx) {
		p.line("grid", a.x(tick.at), a.top, a.x(tick.at), a.bottom)
		p.named("middle", a.x(tick.at), a.bottom+15, tick.text, max(3, room))
	}
}

// mark is a trial at a place of a picture.
type mark struct {
	x, y  float64
	trial string
	shade int
}

// marks draws dots: one path for each shade, whose attribute data-t has the trials in the order of
// the dots. Dots that cover each other are drawn once, the last one of them.
func (p *picture) marks(marks []mark) {
	class := "points"
	if len(marks) < 60 {
		class += " few"
	}
	type cell struct{ x, y int }
	last := make(map[cell]int, len(marks))
	for i, m := range marks {
		last[cell{int(m.x / 1.5), int(m.y / 1.5)}] = i
	}
	var paths, trials [shades][]byte
	for i, m := range marks {
		if last[cell{int(m.x / 1.5), int(m.y / 1.5)}] != i {
			continue
		}
		s := max(0, min(shades-1, m.shade))
		paths[s] = appendDot(paths[s], m.x, m.y)
		if len(trials[s]) > 0 {
			trials[s] = append(trials[s], ',')
		}
		trials[s] = append(trials[s], shortTrial(m.trial)...)
	}
	for s := range paths {
		if len(paths[s]) > 0 {
			fmt.Fprintf(p, `<path class="%s s%d" data-t="%s" d="%s"/>`, class, s, escaped(string(trials[s])), paths[s])
		}
	}
}

// shortTrial returns the number of a trial without its zeros.
func shortTrial(id string) string {
	if short := strings.TrimLeft(id, "0"); short != "" {
		return short
	}
	return "0"
}

// ring marks the best trial.
func (p *picture) ring(x, y float64) {
	dot := appendDot(nil, x, y)
	fmt.Fprintf(p, `<path class="best" d="%s"/><path class="best core" d="%s"/>`, dot, dot)
}

// appendDot appends a line of no length: with round ends it is a dot.
func appendDot(b []byte, x, y float64) []byte {
	b = append(b, 'M')
	b = appendCoordinate(b, x)
	b = append(b, ' ')
	b = appendCoordinate(b, y)
	return append(b, "h0"...)
}

// appendCoordinate appends a number with one decimal, if it needs one.
func appendCoordinate(b []byte, v float64) []byte {
	if v = math.Round(v*10) / 10; v == math.Trunc(v) {
		return strconv.AppendInt(b, int64(v), 10)
	}
	return strconv.AppendFloat(b, v, 'f', 1, 64)
}

// shadeOf returns the shade of one of n, in their order.
func shadeOf(at, n int) int { return at * shades / max(1, n) }
