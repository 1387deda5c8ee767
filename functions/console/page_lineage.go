package console

import (
	"cmp"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/lineage"
)

// lineageView is what made a model.
type lineageView struct {
	Name     string
	RunURL   template.URL
	Picture  template.HTML
	Nodes    []lineageLine
	Differs  int
	Deeper   template.URL // the same, gone back further
	Commands []commandLine
}

// lineageLine is one thing of the picture, for who does not see it.
type lineageLine struct {
	lineage.Node
	URL  template.URL
	Into string // what it was to what
}

// How far a lineage is gone back: a chain of models that each start from the last one may be long.
const (
	lineageDepth    = 3
	maxLineageDepth = 50
)

func (c *Console) lineagePage() page {
	return page{
		nav: "runs", template: "lineage", title: func(view any) string { return "Lineage of " + view.(lineageView).Name },
		build: func(r *http.Request) (any, error) { return c.lineageView(r) },
	}
}

func (c *Console) lineageView(r *http.Request) (view lineageView, err error) {
	k := key{r.FormValue("pipeline"), r.FormValue("run")}
	if err := events.CheckName("pipeline", k.pipeline); err != nil {
		return view, badRequest("%s", err)
	}
	view.Name = k.pipeline
	if k.run != "" {
		view.Name += "@" + k.run
		view.RunURL = link("/run", "pipeline", k.pipeline, "run", k.run)
	}
	options := &lineage.Options{Depth: lineageDepth}
	if r.FormValue("all") != "" {
		options.Depth = maxLineageDepth
	}
	graph, err := lineage.Of(r.Context(), c.opts.Box, c.opts.Store, view.Name, options)
	if err != nil {
		return view, err
	}
	view.Differs = len(graph.Differing())
	for _, node := range graph.Nodes {
		view.Nodes = append(view.Nodes, lineageLine{node, c.nodeURL(node), rolesOf(graph, node.ID)})
		if node.More && options.Depth == lineageDepth && node.Why == "" {
			view.Deeper = link("/lineage", "pipeline", k.pipeline, "run", k.run, "all", "1")
		}
	}
	view.Picture = c.drawLineage(graph)
	f := frame{c: c}
	view.Commands = []commandLine{
		{"The same in a terminal, or as JSON", f.Command("lineage", quoted(view.Name))},
		{"Make the model again, and compare", f.Command("reproduce", quoted(view.Name))},
	}
	return view, nil
}

// rolesOf says what a thing was to what was made of it.
func rolesOf(graph lineage.Graph, id string) string {
	var list []string
	for _, edge := range graph.Edges {
		if to, ok := graph.Node(edge.To); ok && edge.From == id {
			list = append(list, fmt.Sprintf("%s of %s %s", words(string(edge.Role)), words(string(to.Kind)), to.Name))
		}
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), "; ")
}

func words(kind string) string { return strings.ReplaceAll(kind, "_", " ") }

// nodeURL is where more is shown of a thing; "" where there is nothing.
func (c *Console) nodeURL(node lineage.Node) template.URL {
	switch {
	case node.Kind == lineage.Search && node.Pipeline != "" && node.Execution != "":
		return link("/study", "pipeline", node.Pipeline, "id", strings.TrimPrefix(node.Execution, "sha256:"))
	case node.Kind == lineage.Model && node.Run != "":
		return link("/run", "pipeline", node.Pipeline, "run", node.Run)
	case node.URI != "" && node.State != lineage.Gone:
		if ref, err := c.ours(node.URI); err == nil {
			return link("/artifact", "ref", ref.String())
		}
	}
	return ""
}

// The size of the picture, in its own units.
const (
	boxWidth, boxHeight = 224.0, 62.0
	boxGapX, boxGapY    = 80.0, 16.0
)

// spot is where a thing stands.
type spot struct{ x, y float64 }

// drawLineage puts what was there first to the left, and what was made of it to the right.
func (c *Console) drawLineage(graph lineage.Graph) template.HTML {
	spots, width, height := places(graph)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="lineage" width="%g" height="%g" viewBox="0 0 %[1]g %[2]g" role="group" aria-label="What made the model, from the data at the left">`, width, height)
	b.WriteString(`<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="arrow" d="M0 0L8 4L0 8z"/></marker></defs>`)
	for _, edge := range graph.Edges {
		from, to := spots[edge.From], spots[edge.To]
		x0, y0, x1, y1 := from.x+boxWidth, from.y+boxHeight/2, to.x-2, to.y+boxHeight/2
		middle := (x0 + x1) / 2
		fmt.Fprintf(&b, `<path class="edge" marker-end="url(#arrow)" d="M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f"/>`, x0, y0, middle, y0, middle, y1, x1, y1)
	}
	for _, node := range graph.Nodes {
		c.drawNode(&b, node, spots[node.ID], node.ID == graph.Target)
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String()) // made of numbers, and of text that is escaped
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

// places are columns by how many steps it is to the target, the longest way; within one, in the order of the graph.
func places(graph lineage.Graph) (spots map[string]spot, width, height float64) {
	depth := depths(graph)
	columns := map[int][]string{}
	deepest := 0
	for _, node := range graph.Nodes {
		columns[depth[node.ID]] = append(columns[depth[node.ID]], node.ID)
		deepest = max(deepest, depth[node.ID])
	}
	tallest := 0
	for _, column := range columns {
		tallest = max(tallest, len(column))
	}
	width = float64(deepest+1)*(boxWidth+boxGapX) - boxGapX + 4
	height = float64(tallest)*(boxHeight+boxGapY) - boxGapY + 4
	spots = map[string]spot{}
	for at, column := range columns {
		top := (height - float64(len(column))*(boxHeight+boxGapY) + boxGapY) / 2
		for i, id := range column {
			spots[id] = spot{2 + float64(deepest-at)*(boxWidth+boxGapX), top + float64(i)*(boxHeight+boxGapY)}
		}
	}
	return spots, width, height
}

// depths are how many steps it is from each thing to the target, the longest way. A graph has no cycles; were there one, it would end.
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
