package console

import (
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/console/chart"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/runs/lineage"
)

// lineageView is the lineage of a model.
type lineageView struct {
	Name     string
	RunURL   template.URL
	Picture  template.HTML
	Made     []madeLine // the same as a list, which fits a phone
	Nodes    []lineageLine
	Differs  int
	Deeper   template.URL // address of the same lineage, further back
	Commands []commandLine
}

// lineageLine is a line of the table that describes the picture.
type lineageLine struct {
	lineage.Node
	URL  template.URL
	Into string // its roles in what was made from it
}

// Differs returns whether it has changed since it was used, or can't be verified.
func (l lineageLine) Differs() bool { return l.State != lineage.Same && l.State != "" }

// Label returns what it is.
func (l lineageLine) Label() string { return chart.Words(string(l.Kind)) }

// madeLine is a thing of a lineage that was made from others. ID is its anchor.
type madeLine struct {
	lineageLine
	ID   string
	From []inputLine
}

// inputLine is what another thing was made from.
type inputLine struct {
	lineageLine
	Role string
	Made string // its anchor, if the lineage has what it was made from in turn
}

// How far back a lineage goes: a chain of models that each start from the one before may be long.
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

// makerOf returns the run whose job has done an execution, if exactly one is known.
func (c *Console) makerOf(execution string) (maker key, known bool) {
	c.model.View(func(x *runs.Index) {
		makers := slices.Collect(x.MadeBy(execution))
		if known = len(makers) == 1; known {
			maker = makers[0]
		}
	})
	return maker, known
}

func (c *Console) lineageView(r *http.Request) (view lineageView, err error) {
	k := key{Pipeline: r.FormValue("pipeline"), Run: r.FormValue("run")}
	if err := events.CheckName("pipeline", k.Pipeline); err != nil {
		return view, badRequest("%s", err)
	}
	view.Name = k.Pipeline
	if k.Run != "" {
		view.Name += "/" + k.Run
		view.RunURL = link("/run", "pipeline", k.Pipeline, "run", k.Run)
	}
	options := &lineage.Options{Depth: lineageDepth, MakerOf: c.makerOf}
	if r.FormValue("all") != "" {
		options.Depth = maxLineageDepth
	}
	graph, err := lineage.Of(r.Context(), c.opts.Bus, c.opts.Store, view.Name, options)
	if err != nil {
		return view, err
	}
	view.Differs = len(graph.Differing())
	for _, node := range graph.Nodes {
		view.Nodes = append(view.Nodes, lineageLine{node, c.nodeURL(node), rolesOf(graph, node.ID)})
		if node.More && options.Depth == lineageDepth && node.Why == "" {
			view.Deeper = link("/lineage", "pipeline", k.Pipeline, "run", k.Run, "all", "1")
		}
	}
	view.Made = c.madeLines(graph)
	view.Picture = chart.Lineage(graph, func(node lineage.Node) string { return string(c.nodeURL(node)) })
	f := frame{c: c}
	view.Commands = []commandLine{
		{"Show it in a terminal, or as JSON", f.Command("lineage", quoted(view.Name))},
		{"Train the model again, and compare", f.Command("reproduce", quoted(view.Name))},
	}
	return view, nil
}

// Label returns what it was for the thing that was made from it: a base model is a model.
func (l inputLine) Label() string { return l.Role }

// madeLines returns what was made from other things, the target first. Each has its own list of
// inputs, so that a long chain of models is not indented further and further.
func (c *Console) madeLines(graph lineage.Graph) (all []madeLine) {
	for _, node := range graph.Nodes {
		into := graph.Into(node.ID)
		if len(into) == 0 && node.ID != graph.Target {
			continue
		}
		one := madeLine{lineageLine: lineageLine{Node: node, URL: c.nodeURL(node)}, ID: "made-" + node.ID}
		for _, edge := range into {
			from, _ := graph.Node(edge.From)
			in := inputLine{lineageLine: lineageLine{Node: from, URL: c.nodeURL(from)}, Role: chart.Words(string(edge.Role))}
			if len(graph.Into(from.ID)) > 0 {
				in.Made = "#made-" + from.ID
			}
			one.From = append(one.From, in)
		}
		all = append(all, one)
	}
	return all
}

// rolesOf returns the roles of a node in what was made from it.
func rolesOf(graph lineage.Graph, id string) string {
	var list []string
	for _, edge := range graph.Edges {
		if to, ok := graph.Node(edge.To); ok && edge.From == id {
			list = append(list, fmt.Sprintf("%s of %s %s", chart.Words(string(edge.Role)), chart.Words(string(to.Kind)), to.Name))
		}
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), "; ")
}

// nodeURL returns the page of a node; "" if it has none.
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
