package console

import (
	"cmp"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/console/chart"
	"github.com/stoker-ml/stoker/functions/internal/mask"
	"github.com/stoker-ml/stoker/functions/runs"
)

// compareView is the curves of several runs in one picture, and a table of their results and of
// what they are made with.
type compareView struct {
	Runs    []comparedRun
	Columns []compareColumn
	Charts  []chartView
	Tools   toolsView
	Rates   []nameValue
	Notes   []string

	All          bool         // columns have also what is the same in all runs
	AllURL       template.URL // the page with the other choice
	Same         int          // settings that are the same
	Hidden       []nameValue  // the page's address, for the form that adds a run
	Addable      []string     // runs that may be added
	CanAdd, Most int
}

// comparedRun is one of the runs.
type comparedRun struct {
	runLine
	Label, Class string
	Cells        []compareCell // in the order of Columns
	Without      template.URL  // the page without it

	metrics  map[string]float64
	settings map[string]string
}

// compareColumn is a metric or a setting.
type compareColumn struct {
	Name   string
	Metric bool
	URL    template.URL // the page in this order
	Order  string       // "ascending", "descending"; "": the page has another order

	direction tune.Direction // "": not known
}

type compareCell struct {
	Text, Title string
	Best        bool
}

// Limits of a comparison.
const (
	mostCompared = 20
	mostColumns  = 200
	mostAddable  = 200
)

func (c *Console) comparePage() page {
	return page{
		nav: "runs", template: "compare", title: func(any) string { return "Compare runs" },
		fragments: []string{"compare-charts", "compare-table"},
		build:     func(r *http.Request) (any, error) { return c.compareView(r) },
	}
}

func (c *Console) compareView(r *http.Request) (view compareView, err error) {
	if err := r.ParseForm(); err != nil {
		return view, badRequest("%s", err)
	}
	asked, note := askedRuns(r.Form["run"])
	view.note(note)
	view.All, view.Most = r.FormValue("all") != "", mostCompared
	v, labels := chart.ParseView(r.URL.Query()), labelsOf(asked)
	var all []chart.Chart
	epochs := false
	for i, name := range asked {
		k, ok := keyNamed(name)
		if !ok {
			return view, badRequest("run=%s: expected pipeline/run", name)
		}
		one, log := c.compared(r, k)
		one.Label, one.Class, epochs = labels[i], chart.Series{Color: i}.Class(), epochs || len(log.epochs) > 0
		if log.note != "" {
			view.note(labels[i] + ": " + log.note)
		}
		for _, drawn := range log.in(v) {
			for _, line := range drawn.Lines {
				line.Run, line.Color = labels[i], i
				all = chart.WithLine(all, drawn.Metric, drawn.Axis, line)
			}
		}
		view.Runs = append(view.Runs, one)
	}
	curves, rates := splitRates(chart.Ordered(all))
	view.Charts, view.Rates, view.Tools = viewsOf(curves, v), rates, toolsOf(r, v, curves, epochs)
	view.addTable(c, r, asked)
	c.addAddable(&view, asked)
	return view, nil
}

func (v *compareView) note(text string) {
	if text != "" {
		v.Notes = append(v.Notes, text)
	}
}

// askedRuns returns the runs of an address, each once and in its order.
func askedRuns(names []string) (asked []string, note string) {
	for _, name := range names {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(asked, name) {
			if len(asked) == mostCompared {
				return asked, "At most " + strconv.Itoa(mostCompared) + " runs can be compared; the first ones are shown."
			}
			asked = append(asked, name)
		}
	}
	return asked, ""
}

func keyNamed(name string) (k key, ok bool) {
	k.Pipeline, k.Run, ok = strings.Cut(name, "/")
	return k, ok && events.CheckName("pipeline", k.Pipeline) == nil && events.CheckRun("run", k.Run) == nil
}

// labelsOf names runs as commands do, PIPELINE/RUN, and leaves out the pipeline if all runs have
// the same one.
func labelsOf(asked []string) []string {
	labels, same := slices.Clone(asked), true
	for _, name := range asked {
		pipeline, _, _ := strings.Cut(name, "/")
		same = same && strings.HasPrefix(asked[0], pipeline+"/")
	}
	for i := range labels {
		if _, run, ok := strings.Cut(labels[i], "/"); ok && same {
			labels[i] = run
		}
	}
	return labels
}

// compared returns a run and its curves: of an active run those that were followed, else those of
// its log.
func (c *Console) compared(r *http.Request, k key) (line comparedRun, log logged) {
	var known, over bool
	address, revision := "", uint64(0)
	read := func(one run) {
		line.runLine, line.metrics, log.charts = one.line(), one.Result.Metrics, one.curves.Charts()
		address, over, revision = one.Result.ModelRun, one.Over(), one.Revision
	}
	c.model.View(func(x *runs.Index) {
		var one run
		if one, known = c.model.run(x, k); known {
			read(one)
		}
	})
	if !known {
		found, err := c.readLog(r.Context(), k) // it was dropped from memory
		if err != nil {
			line.Pipeline, line.Run, line.Key = k.Pipeline, k.Run, k.Pipeline+"/"+k.Run
			line.URL = link("/run", "pipeline", k.Pipeline, "run", k.Run)
			return line, logged{note: mask.Text(err.Error())}
		}
		read(run{Run: found})
	}
	line.settings = c.settingsOf(r.Context(), k, revision, over)
	if !over || address == "" {
		return line, log
	}
	ref, err := c.ours(address)
	if err != nil {
		log.note = err.Error()
		return line, log
	}
	stored := c.curves.read(r.Context(), ref.String())
	if len(stored.charts) == 0 {
		log.note = stored.note
		return line, log
	}
	return line, stored
}

// addTable adds the columns and the cells of the table, in the order of the address.
func (v *compareView) addTable(c *Console, r *http.Request, asked []string) {
	query := r.URL.Query()
	query.Del("seen")
	query["run"] = asked
	address := func(change func(url.Values)) template.URL {
		changed := url.Values{}
		maps.Copy(changed, query)
		change(changed)
		return template.URL("/compare?" + changed.Encode())
	}
	order, _ := strings.CutPrefix(query.Get("sort"), "-")
	descending := strings.HasPrefix(query.Get("sort"), "-")
	v.addColumns(c)
	for i := range v.Columns {
		column := &v.Columns[i]
		next := column.key()
		if column.key() == order {
			column.Order = map[bool]string{false: "ascending", true: "descending"}[descending]
		}
		if column.Order == "ascending" || column.Order == "" && column.direction == tune.Max {
			next = "-" + next
		}
		column.URL = address(func(q url.Values) { q.Set("sort", next) })
	}
	for i := range v.Runs {
		one := &v.Runs[i]
		one.Without = address(func(q url.Values) {
			q["run"] = slices.DeleteFunc(slices.Clone(asked), func(name string) bool { return name == one.Key })
		})
		one.Cells = v.cellsOf(one)
	}
	v.AllURL = address(func(q url.Values) {
		if q.Del("all"); !v.All {
			q.Set("all", "1")
		}
	})
	v.sort(order, descending)
	for _, name := range slices.Sorted(maps.Keys(query)) {
		for _, value := range query[name] {
			v.Hidden = append(v.Hidden, nameValue{name, value})
		}
	}
}

// key distinguishes a metric from a setting of the same name, such as loss.
func (c compareColumn) key() string {
	if c.Metric {
		return "metric:" + c.Name
	}
	return c.Name
}

// addColumns adds a column for each metric, then for each setting that differs, or for all.
func (v *compareView) addColumns(c *Console) {
	metrics, settings := map[string]bool{}, map[string]map[string]bool{}
	for _, one := range v.Runs {
		for name := range one.metrics {
			metrics[name] = true
		}
		for name := range one.settings {
			if settings[name] == nil {
				settings[name] = map[string]bool{}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		v.Columns = append(v.Columns, compareColumn{Name: name, Metric: true, direction: c.directionOf(v.Runs, name)})
	}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		for _, one := range v.Runs {
			// Before its training has ended, a run does not have all of its settings.
			if text, there := one.settings[name]; there || one.State == runs.Trained {
				settings[name][text] = true
			}
		}
		if len(settings[name]) < 2 {
			v.Same++
		}
		if len(settings[name]) > 1 || v.All {
			v.Columns = append(v.Columns, compareColumn{Name: name})
		}
	}
	if more := len(v.Columns) - mostColumns; more > 0 {
		v.Columns = v.Columns[:mostColumns]
		v.note(strconv.Itoa(more) + " columns are left out.")
	}
}

// directionOf returns whether less or more of a metric is better: as the objective of a pipeline's
// search says, else by the metric's name.
func (c *Console) directionOf(list []comparedRun, metric string) (direction tune.Direction) {
	c.model.View(func(x *runs.Index) {
		for _, one := range list {
			p, applied := x.Pipeline(one.Pipeline)
			if !applied || p.Spec.Tuner == nil || p.Spec.Tuner.Study == nil {
				continue
			}
			for _, objective := range p.Spec.Tuner.Study.Objective {
				if objective.Name == metric && objective.Direction != "" {
					direction = tune.Direction(objective.Direction)
				}
			}
		}
	})
	if direction == "" {
		direction, _ = tune.DirectionOf(metric)
	}
	return direction
}

func (v *compareView) cellsOf(one *comparedRun) (cells []compareCell) {
	for _, column := range v.Columns {
		cell := compareCell{Text: "–"}
		if value, there := one.metrics[column.Name]; column.Metric && there {
			cell.Text, cell.Best = chart.Short(value), v.isBest(column, value)
		} else if text, there := one.settings[column.Name]; !column.Metric && there {
			line := valueOf("", text)
			cell.Text, cell.Title = line.Value, line.Title
		}
		cells = append(cells, cell)
	}
	return cells
}

// isBest reports whether no run has a better value of a metric, and one has a worse one.
func (v *compareView) isBest(column compareColumn, value float64) bool {
	worse := false
	for _, other := range v.Runs {
		theirs, there := other.metrics[column.Name]
		if !there || column.direction == "" || column.direction.Better(theirs, value) {
			if there {
				return false
			}
			continue
		}
		worse = worse || column.direction.Better(value, theirs)
	}
	return worse
}

// sort orders the rows by a column; rows without a value are the last ones.
func (v *compareView) sort(order string, descending bool) {
	at := slices.IndexFunc(v.Columns, func(c compareColumn) bool { return c.key() == order })
	if at < 0 {
		return
	}
	column := v.Columns[at]
	slices.SortStableFunc(v.Runs, func(a, b comparedRun) int {
		x, hasX := a.value(column)
		y, hasY := b.value(column)
		by := compareTexts(x, y)
		if descending {
			by = -by
		}
		return cmp.Or(cmp.Compare(boolOf(!hasX), boolOf(!hasY)), by)
	})
}

func (r comparedRun) value(c compareColumn) (text string, there bool) {
	if !c.Metric {
		text, there = r.settings[c.Name]
		return text, there
	}
	value, there := r.metrics[c.Name]
	return strconv.FormatFloat(value, 'g', -1, 64), there
}

// compareTexts compares numbers as such, and other texts by their letters.
func compareTexts(a, b string) int {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	if errX == nil && errY == nil {
		return cmp.Compare(x, y)
	}
	return strings.Compare(a, b)
}

// addAddable lists runs that a reader may add: those of the same pipelines, the newest first.
func (c *Console) addAddable(view *compareView, asked []string) {
	if view.CanAdd = mostCompared - len(asked); view.CanAdd <= 0 {
		return
	}
	var pipelines []string
	for _, name := range asked {
		pipeline, _, _ := strings.Cut(name, "/")
		pipelines = append(pipelines, pipeline)
	}
	var all []runs.Summary
	c.model.View(func(x *runs.Index) { all = c.model.states(x) })
	slices.SortFunc(all, func(a, b runs.Summary) int {
		return cmp.Or(b.Updated.Compare(a.Updated), strings.Compare(a.Run, b.Run))
	})
	for _, one := range all {
		name := one.Pipeline + "/" + one.Run
		if len(view.Addable) < mostAddable && (len(pipelines) == 0 || slices.Contains(pipelines, one.Pipeline)) && !slices.Contains(asked, name) {
			view.Addable = append(view.Addable, name)
		}
	}
}
