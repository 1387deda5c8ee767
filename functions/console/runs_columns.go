package console

import (
	"html/template"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/runs/list"
)

// columnView is a column of the list of runs.
type columnView struct {
	ID, Label string
	Class     string
	// The address of the list in the order of the column, or in the opposite.
	Sort   template.URL
	Sorted string // ascending or descending, as in aria-sort; "" in another order
}

// columnGroup is a group of columns to choose from.
type columnGroup struct {
	Label   string
	Columns []option
	More    int // names that are left out
}

// option is one of several, by its value.
type option struct {
	Value, Label string
	Chosen       bool
}

// Limits of the columns.
const (
	maxColumns    = 24
	maxColumnName = 160
	maxChoices    = 60 // names of metrics, and of parameters
)

// columnRun is the column of the runs' names, which is always shown.
const columnRun = "run"

// column is a column that can be shown. first is the order in which its header sorts first; "": the
// runs have no order by it.
type column struct {
	id, label, class, first string
	usual                   bool
}

var runColumns = []column{
	{id: columnRun, label: "Run", class: "name", first: "run"},
	{id: "state", label: "State", class: "state", first: "state", usual: true},
	{id: "progress", label: "Progress", class: "what", usual: true},
	{id: "loss", label: "Loss", class: "loss", usual: true},
	{id: "result", label: "Result", class: "num result", usual: true},
	{id: "took", label: "Took", class: "num", first: "-took", usual: true},
	{id: "cached", label: "Cached", class: "", first: "-cached"},
	{id: "attempts", label: "Attempts", class: "num", first: "-attempts"},
	{id: "model", label: "Model", class: "", first: "model"},
	{id: "revision", label: "Revision", class: "num", first: "-revision"},
	{id: "started", label: "First event", class: "num muted", first: "-started"},
	{id: "updated", label: "Last event", class: "num muted", first: "-updated", usual: true},
}

// columnOf returns a column by id; one for a metric or parameter has its prefix.
func columnOf(id string) (column, bool) {
	if i := slices.IndexFunc(runColumns, func(c column) bool { return c.id == id }); i >= 0 {
		return runColumns[i], true
	}
	if name, ok := strings.CutPrefix(id, "metric."); ok && name != "" {
		return column{id: id, label: name, class: "num", first: "-" + id}, true
	}
	if name, ok := strings.CutPrefix(id, "param."); ok && name != "" {
		return column{id: id, label: name, class: "num", first: id}, true
	}
	return column{}, false
}

// columns sets the columns that are shown, those to choose from, and the orders. The columns of
// loss and result sort by the metric that they show: leading is that of the results.
func (v *runsView) columns(order list.Order, names list.Names, leading string) {
	shown := []column{runColumns[0]}
	for _, c := range runColumns[1:] {
		if slices.Contains(v.Chosen, c.id) {
			shown = append(shown, c)
		}
	}
	for _, id := range v.Chosen {
		if c, ok := columnOf(id); ok && strings.Contains(id, ".") {
			shown = append(shown, c)
		}
	}
	if len(shown) == 1 {
		shown = append(shown, slices.DeleteFunc(slices.Clone(runColumns), func(c column) bool { return !c.usual })...)
	}
	if last := slices.IndexFunc(shown, func(c column) bool { return c.id == "updated" }); last >= 0 {
		// It stays at the end.
		shown = append(append(shown[:last:last], shown[last+1:]...), shown[last])
	}
	for i, c := range shown {
		switch {
		case c.id == "loss" && slices.Contains(names.Metrics(), "loss"):
			shown[i].first = "metric.loss"
		case c.id == "result" && leading != "":
			shown[i].first = "-metric." + leading
		}
		v.Columns = append(v.Columns, v.columnView(shown[i], order.String()))
	}
	v.choices(shown, names)
	v.orders(shown, order.String())
}

func (v *runsView) columnView(c column, order string) columnView {
	view := columnView{ID: c.id, Label: c.label, Class: c.class}
	if c.first == "" {
		return view
	}
	by, next := strings.TrimPrefix(c.first, "-"), c.first
	switch order {
	case by:
		view.Sorted = "ascending"
	case "-" + by:
		view.Sorted = "descending"
	}
	if order == c.first {
		next = opposite(order)
	}
	view.Sort = v.by(next)
	return view
}

func opposite(order string) string {
	if by, descending := strings.CutPrefix(order, "-"); descending {
		return by
	}
	return "-" + order
}

// choices sets the columns to choose from.
func (v *runsView) choices(shown []column, names list.Names) {
	isShown := func(id string) bool {
		return slices.ContainsFunc(shown, func(c column) bool { return c.id == id })
	}
	general := columnGroup{Label: "Run"}
	for _, c := range runColumns[1:] {
		general.Columns = append(general.Columns, option{c.id, c.label, isShown(c.id)})
	}
	v.Choices = []columnGroup{general}
	for _, g := range []struct {
		label, prefix string
		names         []string
	}{{"Metrics", "metric.", names.Metrics()}, {"Hyperparameters and settings", "param.", names.Parameters()}} {
		group := columnGroup{Label: g.label, More: max(0, len(g.names)-maxChoices)}
		for _, name := range g.names[:min(len(g.names), maxChoices)] {
			group.Columns = append(group.Columns, option{g.prefix + name, name, isShown(g.prefix + name)})
		}
		if len(group.Columns) > 0 {
			v.Choices = append(v.Choices, group)
		}
	}
}

// orders sets the orders to choose from where the table has no headers.
func (v *runsView) orders(shown []column, order string) {
	known := false
	for _, c := range shown {
		if c.first == "" {
			continue
		}
		for _, by := range []string{c.first, opposite(c.first)} {
			v.Orders = append(v.Orders, option{by, c.label + orderText(by), by == order})
			known = known || by == order
		}
	}
	if !known {
		v.Orders = append(v.Orders, option{order, strings.TrimPrefix(order, "-") + orderText(order), true})
	}
}

func orderText(order string) string {
	by, descending := strings.CutPrefix(order, "-")
	texts := [2]string{", least first", ", greatest first"}
	switch {
	case by == "updated" || by == "started":
		texts = [2]string{", oldest first", ", newest first"}
	case by == columnRun || by == "model" || by == "state" || strings.HasPrefix(by, "param."):
		texts = [2]string{", ascending", ", descending"}
	}
	if descending {
		return texts[1]
	}
	return texts[0]
}

// Text returns the value of a run in a column that needs no element of its own.
func (l runLine) Text(id string) string {
	switch id {
	case "took":
		if l.Took > 0 {
			return lasts(l.Took)
		}
	case "cached":
		if l.State == runs.Trained {
			return map[bool]string{true: "yes", false: "no"}[l.Cached]
		}
	case "attempts":
		if l.Attempts > 0 {
			return thousands(l.Attempts)
		}
	case "revision":
		if l.Revision > 0 {
			return thousands(int(l.Revision))
		}
	}
	if name, ok := strings.CutPrefix(id, "metric."); ok {
		if v, has := l.Metrics[name]; has {
			return aligned(v)
		}
	}
	if name, ok := strings.CutPrefix(id, "param."); ok {
		text, _ := l.Parameters.Get(name)
		return text
	}
	return ""
}

// leadingOf returns the metric that most of the results of runs show.
func leadingOf(all []runs.Summary) (most string) {
	counts := map[string]int{}
	for i := range all {
		if name, _ := leading(all[i].Metrics); name != "" {
			if counts[name]++; counts[name] > counts[most] {
				most = name
			}
		}
	}
	return most
}
