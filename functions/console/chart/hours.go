package chart

import (
	"fmt"
	"html/template"
	"strings"
)

// Bar is one of several stacked counts, with what a pointer is shown and where it leads.
type Bar struct {
	Good, Bad int
	Title     string
	URL       template.URL
}

// The size of a picture of bars, in its own units; it is stretched to its element.
const (
	barsWidth, barsHeight = 480.0, 100.0
	barInset              = 0.14 // of the width of a bar, on both sides
	leastBar              = 2.0  // height of a count above 0
)

// Bars draws counts side by side, the bad ones on top of the good ones; "" without a bar. The
// picture says nothing to readers that don't see it: the caller shows a table too. Its links are
// for a pointer.
func Bars(bars []Bar) template.HTML {
	if len(bars) == 0 {
		return ""
	}
	most := 1
	for _, bar := range bars {
		most = max(most, bar.Good+bar.Bad)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="hours" viewBox="0 0 %g %g" preserveAspectRatio="none" aria-hidden="true">`, barsWidth, barsHeight)
	for _, y := range []float64{0, barsHeight / 2, barsHeight} {
		fmt.Fprintf(&b, `<line class="grid" x1="0" x2="%g" y1="%g" y2="%[2]g"/>`, barsWidth, y)
	}
	width := barsWidth / float64(len(bars))
	for i, bar := range bars {
		x := float64(i) * width
		fmt.Fprintf(&b, `<a href="%s" tabindex="-1"><title>%s</title><rect class="touch" x="%.2f" y="0" width="%.2f" height="%g"/>`,
			escaped(string(bar.URL)), escaped(bar.Title), x, width, barsHeight)
		top := barsHeight
		for _, part := range []struct {
			class string
			count int
		}{{"good", bar.Good}, {"bad", bar.Bad}} {
			if part.count <= 0 {
				continue
			}
			height := max(leastBar, (barsHeight-2*leastBar)*float64(part.count)/float64(most))
			top -= height
			fmt.Fprintf(&b, `<rect class="%s" x="%.2f" y="%.2f" width="%.2f" height="%.2f"/>`, part.class, x+barInset*width, top, (1-2*barInset)*width, height)
		}
		b.WriteString(`</a>`)
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String()) // made of numbers and escaped text
}
