package console

import (
	"cmp"
	"fmt"
	"html/template"
	"strings"

	"github.com/stoker-ml/stoker/functions/runs/lineage"
)

// drawLineage draws sources at the left, and what was made of them to the right.
func (c *Console) drawLineage(graph lineage.Graph) template.HTML {
	l := layOut(graph)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="lineage" width="%g" height="%g" viewBox="0 0 %[1]g %[2]g" role="group" aria-label="What made the model, from the data at the left">`, l.width, l.height)
	b.WriteString(`<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="arrow" d="M0 0L8 4L0 8z"/></marker></defs>`)
	for _, w := range l.ways {
		w.draw(&b)
	}
	for _, node := range graph.Nodes {
		c.drawNode(&b, node, l.spots[node.ID], node.ID == graph.Target)
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String()) // made of numbers, and of text that is escaped
}

// draw draws a curve that starts and ends level, so that edges that join are smooth.
func (w way) draw(b *strings.Builder) {
	arrow := ""
	if w.arrives {
		arrow = ` marker-end="url(#arrow)"`
	}
	middle := (w.from.x + w.to.x) / 2
	fmt.Fprintf(b, `<path class="edge"%s d="M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f"/>`,
		arrow, w.from.x, w.from.y, middle, w.from.y, middle, w.to.y, w.to.x, w.to.y)
}

func (c *Console) drawNode(b *strings.Builder, node lineage.Node, at spot, chosen bool) {
	url := c.nodeURL(node)
	if url != "" {
		fmt.Fprintf(b, `<a href="%s">`, escaped(string(url)))
	}
	fmt.Fprintf(b, `<g class="node %s%s" transform="translate(%.1f %.1f)"><title>%s</title><rect class="box" width="%g" height="%g" rx="8"/>`,
		escaped(string(node.State)), map[bool]string{true: " chosen"}[chosen], at.x, at.y, escaped(strings.TrimSpace(node.Name+" "+node.URI+" "+node.Digest)), boxWidth, boxHeight)
	kind := words(string(node.Kind))
	if node.State != lineage.Same && node.State != "" {
		kind += " · " + string(node.State)
	}
	name := cmp.Or(node.Name, node.URI)
	fmt.Fprintf(b, `<text class="kind" x="12" y="18">%s</text><text class="name" x="12" y="35">%s</text><text class="digest" x="12" y="51">%s</text></g>`,
		escaped(kind), escaped(cut(name, 26)), escaped(shortDigest(node.Digest)))
	if url != "" {
		b.WriteString(`</a>`)
	}
}
