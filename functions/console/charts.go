package console

import (
	"cmp"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/functions/console/chart"
)

// chartView is a chart ready to be drawn.
type chartView struct {
	ID, Metric, Axis string
	Lines            []legendLine
	SVG              template.HTML
	Data             string // what the page's script draws: JSON, or the address of it
}

// legendLine is a line of a chart in its legend.
type legendLine struct{ Name, Class, Last string }

// toolsView is the controls of the charts of a page: a form whose fields are those of a chart.View.
type toolsView struct {
	View   chart.View
	Action string
	Hidden []nameValue // the rest of the page's address
	Axes   []axisChoice
	Zoomed bool
	Whole  template.URL // the page without a zoom
}

// axisChoice is a horizontal axis that charts may have.
type axisChoice struct {
	Value, Text string
	Now         bool
}

// viewsOf draws charts in a view.
func viewsOf(charts []chart.Chart, v chart.View) (views []chartView) {
	for _, c := range charts {
		data, err := c.Data(v)
		if err != nil {
			continue // impossible: values are finite
		}
		view := viewOf(c, v)
		view.Data = data
		views = append(views, view)
	}
	return views
}

// viewOf draws a chart in a view, without its data.
func viewOf(c chart.Chart, v chart.View) chartView {
	view := chartView{ID: "chart-" + slug(c.Metric+"-"+c.Axis), Metric: c.Metric, Axis: c.AxisIn(v), SVG: c.Draw(v)}
	for _, line := range c.Lines {
		last := "–"
		if n := len(line.Points); n > 0 {
			last = chart.Short(line.Points[n-1].Value)
		}
		view.Lines = append(view.Lines, legendLine{cmp.Or(line.Name(), c.Metric), line.Class(), last})
	}
	return view
}

// toolsOf returns the controls of charts at the address of a request.
func toolsOf(r *http.Request, v chart.View, charts []chart.Chart, epochs bool) toolsView {
	query := r.URL.Query()
	for _, name := range []string{"scale", "smooth", "x", "zoom", "seen"} {
		query.Del(name)
	}
	t := toolsView{View: v, Action: strings.TrimPrefix(r.URL.Path, "/live"), Zoomed: v.From < v.To}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		for _, value := range query[name] {
			t.Hidden = append(t.Hidden, nameValue{Name: name, Value: value})
		}
	}
	whole := v
	whole.From, whole.To = 0, 0
	t.Whole = template.URL(t.Action + "?" + merged(query, whole.Query()).Encode())
	axes := []axisChoice{{Value: chart.ByStep, Text: "step"}}
	if epochs {
		axes = append(axes, axisChoice{Value: chart.ByEpoch, Text: "epoch"})
	}
	if len(charts) > 0 && !slices.ContainsFunc(charts, func(c chart.Chart) bool { return !c.HasTimes() }) {
		axes = append(axes, axisChoice{Value: chart.ByRelative, Text: "time since the start"}, axisChoice{Value: chart.ByWall, Text: "wall time"})
	}
	if len(axes) > 1 {
		for i := range axes {
			axes[i].Now = axes[i].Value == v.X
		}
		t.Axes = axes
	}
	return t
}

func merged(query, more url.Values) url.Values {
	query = maps.Clone(query)
	maps.Copy(query, more)
	return query
}

// slug makes an id from a text.
func slug(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, text)
}

// splitRates takes constant learning rates out of charts: each is a number.
func splitRates(charts []chart.Chart) (curves []chart.Chart, rates []nameValue) {
	for _, c := range charts {
		if value, constant := c.Constant(); constant && strings.Contains(c.Metric, "learning_rate") {
			rates = append(rates, nameValue{Name: chart.Words(c.Metric), Value: chart.Short(value)})
			continue
		}
		curves = append(curves, c)
	}
	return curves, rates
}
