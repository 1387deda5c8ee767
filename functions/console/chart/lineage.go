package chart

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/functions/runs/lineage"
)

// The size of the picture, in its own units.
const (
	boxWidth, boxHeight = 224.0, 62.0
	boxGapX, boxGapY    = 80.0, 16.0
	edgeInset           = 2.0  // around the picture, and before the tip of an arrow
	passHeight          = 10.0 // height of a way in a column that it passes through
)

// layout has the positions of the nodes of a graph, and of the ways between them, none of which
// crosses a node.
type layout struct {
	width, height float64
	spots         map[string]spot // the upper left corners of boxes, by node
	ways          []way
}

// spot is a position in the picture.
type spot struct{ x, y float64 }

// way is part of an edge: from one column to the next, or past the boxes of one.
type way struct {
	from, to spot
	arrives  bool // at a box
}

// item is an element of a column: a node, or a way from it that passes through.
type item struct {
	node   string
	passes bool
}

func (i item) height() float64 {
	if i.passes {
		return passHeight
	}
	return boxHeight
}

// layers are a graph's columns, from the target's, in which items get positions column by column.
type layers struct {
	graph   lineage.Graph
	depth   map[string]int
	columns [][]item
	middles []map[item]float64 // of each column's items
}

// layOut puts nodes in columns by the length of the longest path to the target. An edge of several
// steps has a position in each column between. Within a column, nodes are sorted by what they lead
// to, so that few ways cross.
func layOut(graph lineage.Graph) layout {
	l := layersOf(graph)
	height := 0.0
	for _, column := range l.columns {
		height = max(height, heightOf(column))
	}
	out := layout{width: l.x(0) + boxWidth + edgeInset, height: height + 2*edgeInset, spots: map[string]spot{}}
	for d, column := range l.columns {
		l.sort(d)
		l.middles = append(l.middles, map[item]float64{})
		top := edgeInset + (height-heightOf(column))/2
		for _, it := range column {
			l.middles[d][it] = top + it.height()/2
			if !it.passes {
				out.spots[it.node] = spot{l.x(d), top}
			}
			top += it.height() + boxGapY
		}
		for _, it := range column {
			out.ways = append(out.ways, l.waysFrom(d, it)...)
		}
	}
	return out
}

func layersOf(graph lineage.Graph) *layers {
	l := &layers{graph: graph, depth: depths(graph)}
	deepest := 0
	for _, node := range graph.Nodes {
		deepest = max(deepest, l.depth[node.ID])
	}
	l.columns = make([][]item, deepest+1)
	for _, node := range graph.Nodes {
		l.columns[l.depth[node.ID]] = append(l.columns[l.depth[node.ID]], item{node: node.ID})
	}
	for _, edge := range graph.Edges {
		for d := l.depth[edge.To] + 1; d < l.depth[edge.From]; d++ {
			// Edges from one node share a way for as long as they can.
			if it := (item{edge.From, true}); !slices.Contains(l.columns[d], it) {
				l.columns[d] = append(l.columns[d], it)
			}
		}
	}
	return l
}

// x returns the left side of a column.
func (l *layers) x(d int) float64 { return edgeInset + float64(len(l.columns)-1-d)*(boxWidth+boxGapX) }

func heightOf(column []item) float64 {
	height := -boxGapY
	for _, it := range column {
		height += it.height() + boxGapY
	}
	return height
}

// next returns the items in the column before d to which something leads.
func (l *layers) next(d int, from item) (list []item) {
	for _, edge := range l.graph.Edges {
		if edge.From != from.node || l.depth[edge.To] >= d {
			continue
		}
		it := item{node: edge.To}
		if l.depth[edge.To] < d-1 {
			it = item{from.node, true}
		}
		if !slices.Contains(list, it) {
			list = append(list, it)
		}
	}
	return list
}

// sort orders a column by the middle of what its items lead to, whose positions are known.
func (l *layers) sort(d int) {
	at := map[item]float64{}
	for _, it := range l.columns[d] {
		next := l.next(d, it)
		for _, to := range next {
			at[it] += l.middles[d-1][to] / float64(len(next))
		}
	}
	slices.SortStableFunc(l.columns[d], func(a, b item) int { return cmp.Compare(at[a], at[b]) })
}

func (l *layers) waysFrom(d int, it item) (list []way) {
	y := l.middles[d][it]
	right := spot{l.x(d) + boxWidth, y}
	if it.passes {
		list = append(list, way{from: spot{l.x(d), y}, to: right})
	}
	for _, to := range l.next(d, it) {
		w := way{from: right, to: spot{l.x(d - 1), l.middles[d-1][to]}, arrives: !to.passes}
		if w.arrives {
			w.to.x -= edgeInset
		}
		list = append(list, w)
	}
	return list
}

// depths returns the lengths of the longest path from each node to the target. It terminates even
// for a graph with cycles, although there are none.
func depths(graph lineage.Graph) map[string]int {
	depth := map[string]int{}
	for range graph.Nodes {
		changed := false
		for _, edge := range graph.Edges {
			if d := depth[edge.To] + 1; d > depth[edge.From] && d <= len(graph.Nodes) {
				depth[edge.From], changed = d, true
			}
		}
		if !changed {
			break
		}
	}
	return depth
}

// Lineage draws a graph: sources at the left, and what was made from them to the right.
func Lineage(graph lineage.Graph, address func(lineage.Node) string) template.HTML {
	l := layOut(graph)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="lineage" width="%g" height="%g" viewBox="0 0 %[1]g %[2]g" role="group" aria-label="Lineage of the model, with the data at the left">`, l.width, l.height)
	b.WriteString(`<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="arrow" d="M0 0L8 4L0 8z"/></marker></defs>`)
	for _, w := range l.ways {
		w.draw(&b)
	}
	for _, node := range graph.Nodes {
		drawNode(&b, node, address(node), l.spots[node.ID], node.ID == graph.Target)
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String()) // made of numbers and escaped text
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

func drawNode(b *strings.Builder, node lineage.Node, url string, at spot, chosen bool) {
	if url != "" {
		fmt.Fprintf(b, `<a href="%s">`, escaped(url))
	}
	fmt.Fprintf(b, `<g class="node %s%s" transform="translate(%.1f %.1f)"><title>%s</title><rect class="box" width="%g" height="%g" rx="8"/>`,
		escaped(string(node.State)), map[bool]string{true: " chosen"}[chosen], at.x, at.y, escaped(strings.TrimSpace(node.Name+" "+node.URI+" "+node.Digest)), boxWidth, boxHeight)
	kind := Words(string(node.Kind))
	if node.State != lineage.Same && node.State != "" {
		kind += " · " + string(node.State)
	}
	name := cmp.Or(node.Name, node.URI)
	fmt.Fprintf(b, `<text class="kind" x="12" y="18">%s</text><text class="name" x="12" y="35">%s</text><text class="digest" x="12" y="51">%s</text></g>`,
		escaped(kind), escaped(cut(name, 26)), escaped(ShortDigest(node.Digest)))
	if url != "" {
		b.WriteString(`</a>`)
	}
}
