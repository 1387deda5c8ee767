package console

import (
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/functions/console/chart"
	"github.com/stoker-ml/stoker/functions/internal/filter"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/runs/list"
)

// listState is what the address of the list of runs holds.
type listState struct {
	Query  string // see list.Parse
	Sort   string // see list.ParseOrder
	Cursor string
	Chosen []string // columns, by id; empty: the usual ones
}

// runsView is the list of runs.
type runsView struct {
	listState
	Fault   *filter.Error // why nothing is selected
	Marked  [3]string     // the query before, in and after the part that can't be read
	States  []stateCount
	Columns []columnView // those that are shown
	Choices []columnGroup
	Orders  []option
	Names   []string // completions of the query
	Runs    []runLine
	Leaf    leaf
	Known   int
}

// stateCount is the number of runs in a state, and the address of their list.
type stateCount struct {
	State string
	Count int
	URL   template.URL
	Now   bool // it is the selected state
}

// runLine is one run of a list.
type runLine struct {
	runs.Summary
	Key      string // pipeline/run
	URL      template.URL
	Since    time.Time
	Progress *progressView
	Spark    template.HTML
	Metric   string // its most important metric
	Value    float64
	Took     time.Duration
	Cached   bool
	ModelRun string // address of its curves, once it has ended
}

// progressView is the progress of a job.
type progressView struct {
	Phase       string
	Step, Steps int
	Percent     float64
	Speed       float64
	Left        time.Duration
	Metrics     map[string]float64
	At          time.Time
}

// runsPerPage keeps a page fast and readable.
const runsPerPage = 50

func (c *Console) runsPage() page {
	return page{
		nav: "runs", template: "runs", title: func(any) string { return "Runs" },
		fragments: []string{"runs-states", "runs-table"},
		build: func(r *http.Request) (any, error) {
			view, err := c.model.runsView(r, c.opts.Now())
			c.addSparks(view.Runs)
			return view, err
		},
	}
}

// listStateOf reads the state of the list from a request. A pipeline and a state of their own, as
// other pages link to, become terms of the query.
func listStateOf(r *http.Request) listState {
	s := listState{Query: strings.TrimSpace(r.FormValue("q")), Sort: r.FormValue("sort"), Cursor: r.FormValue("cursor")}
	for _, name := range []string{"state", "pipeline"} {
		if value := r.FormValue(name); value != "" {
			s.Query = strings.TrimSpace(name + "=" + filter.Quote(value) + " " + s.Query)
		}
	}
	for _, id := range r.Form["columns"] {
		if len(s.Chosen) < maxColumns && len(id) <= maxColumnName && !slices.Contains(s.Chosen, id) {
			s.Chosen = append(s.Chosen, id)
		}
	}
	return s
}

// URL returns the address of the list in this state.
func (s listState) URL() template.URL {
	pairs := []string{"q", s.Query, "sort", s.Sort, "cursor", s.Cursor}
	for _, id := range s.Chosen {
		pairs = append(pairs, "columns", id)
	}
	return link("/runs", pairs...)
}

// with returns the address of the first page of the list with another query.
func (s listState) with(query string) template.URL {
	s.Query, s.Cursor = query, ""
	return s.URL()
}

// by returns the address of the first page of the list in another order.
func (s listState) by(order string) template.URL {
	s.Sort, s.Cursor = order, ""
	return s.URL()
}

// Usual returns the address of the list with the usual columns, which a browser remembers.
func (s listState) Usual() template.URL {
	s.Chosen, s.Cursor = []string{"usual"}, ""
	return s.URL()
}

// runsView lists the selected runs.
func (m *model) runsView(r *http.Request, now time.Time) (view runsView, err error) {
	view = runsView{listState: listStateOf(r)}
	order, err := list.ParseOrder(view.Sort)
	if err != nil {
		return view, badRequest("sort: %s", err)
	}
	m.View(func(x *runs.Index) {
		all := m.states(x)
		view.Known = len(all)
		names := list.NamesOf(slices.Values(all))
		selection, bad := list.Parse(view.Query, names)
		if fault, ok := bad.(*filter.Error); ok {
			view.refuse(fault)
			all = nil
		}
		matching := view.selected(all, selection, now)
		view.Names = completions(view.Query, names, m.pipelines(x))
		view.columns(order, names, leadingOf(matching))
		order.Sort(matching)
		var page list.Page
		if page, err = order.Page(matching, view.Cursor, runsPerPage); err != nil {
			err = badRequest("cursor: %s", err)
			return
		}
		view.turn(page, len(matching))
		for _, one := range page.Runs {
			r, _ := m.run(x, one.Key())
			view.Runs = append(view.Runs, r.line())
		}
	})
	return view, err
}

// refuse records why the query can't be read.
func (v *runsView) refuse(fault *filter.Error) {
	v.Fault = fault
	v.Marked = [3]string{fault.Text[:fault.From], fault.Text[fault.From:fault.To], fault.Text[fault.To:]}
}

// selected returns the runs that a filter selects, and counts them by state: the counts are those
// of the filter with each state instead of its own. It overwrites all.
func (v *runsView) selected(all []runs.Summary, selection list.Filter, now time.Time) (matching []runs.Summary) {
	anyState, counts, total := selection.Without("state"), map[string]int{}, 0
	matching = all[:0]
	for i := range all {
		if !anyState.Matches(&all[i], now) {
			continue
		}
		counts[all[i].State]++
		total++
		if selection.Matches(&all[i], now) {
			matching = append(matching, all[i])
		}
	}
	states := selection.Has("state")
	v.States = []stateCount{{"all", total, v.with(anyState.String()), anyState.String() == selection.String()}}
	for _, state := range runs.States() {
		if chosen := slices.Contains(states, state); chosen || counts[state] > 0 {
			v.States = append(v.States, stateCount{state, counts[state], v.with(anyState.With("state", state)), chosen})
		}
	}
	return matching
}

// turn sets the addresses of the pages before and after.
func (v *runsView) turn(page list.Page, total int) {
	v.Leaf = leaf{Pages: (total + runsPerPage - 1) / runsPerPage, From: min(page.From+1, total), To: page.From + len(page.Runs), Total: total}
	to := v.listState
	if to.Cursor = page.Next; page.Next != "" {
		v.Leaf.Next = to.URL()
	}
	if to.Cursor = page.Previous; page.Previous == "" {
		return
	}
	if page.From <= runsPerPage {
		to.Cursor = "" // the first page, to which new runs come
	}
	v.Leaf.Previous = to.URL()
}

// pipelines returns all pipelines that are known, by name. It is called in View.
func (m *model) pipelines(x *runs.Index) []string {
	seen := map[string]bool{}
	for name := range x.Applied() {
		seen[name] = true
	}
	for k := range x.Keys() {
		seen[k.Pipeline] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// Limits of the completions: a browser shows a few of them at once.
const (
	maxCompletions     = 120
	maxCompletionBytes = 16 << 10
)

// completions returns what the query may continue with. A browser completes the field as a whole,
// so each begins with the query; a script shortens that to what is being written.
func completions(query string, names list.Names, pipelines []string) (all []string) {
	size := 0
	add := func(word string) {
		word = strings.TrimLeft(query+" "+word, " ")
		if size += len(word); size < maxCompletionBytes && len(all) < maxCompletions && len(word) <= filter.MaxBytes {
			all = append(all, word)
		}
	}
	for _, state := range runs.States() {
		add("state=" + state)
	}
	for _, name := range pipelines[:min(len(pipelines), maxCompletions/4)] {
		add("pipeline=" + name)
	}
	for _, word := range []string{"since=1d", "since=1w", "cached=no"} {
		add(word)
	}
	metrics, parameters := names.Metrics(), names.Parameters()
	for _, name := range metrics {
		if slices.Contains(parameters, name) {
			name = "metric." + name
		}
		add(filter.Quote(name) + " > ")
	}
	for _, name := range parameters {
		if slices.Contains(metrics, name) {
			name = "param." + name
		}
		add(filter.Quote(name) + "=")
	}
	for _, name := range list.Fields() {
		add(name)
	}
	return all
}

func (r run) line() runLine {
	line := runLine{
		Summary: r.Summary, Key: r.Pipeline + "/" + r.Summary.Run, URL: link("/run", "pipeline", r.Pipeline, "run", r.Summary.Run), Since: r.Since,
		Progress: r.progressView(), Took: r.Result.Took, Cached: r.Result.Cached, ModelRun: r.Result.ModelRun,
	}
	for _, name := range []string{"loss", "train_loss"} {
		if curve := r.curves[name]; curve != nil {
			line.Spark = chart.Spark(curve.Points)
			break
		}
	}
	line.Metric, line.Value = leading(r.Result.Metrics)
	return line
}

func (r run) progressView() *progressView {
	p := r.progress
	if p == nil {
		return nil
	}
	v := &progressView{
		Phase: p.Phase, Step: p.Step, Steps: p.Steps, Metrics: p.Metrics, At: p.Time, Speed: r.pace.speed(), Left: r.pace.left(p.Step, p.Steps),
	}
	if p.Steps > 0 {
		v.Percent = min(100, 100*float64(p.Step)/float64(p.Steps))
	}
	return v
}

// leading returns the metric that a list shows.
func leading(metrics map[string]float64) (string, float64) {
	for _, name := range []string{"accuracy", "auc", "binary_accuracy", "sparse_categorical_accuracy", "val_accuracy", "rmse", "mae", "loss", "val_loss"} {
		if value, there := metrics[name]; there {
			return name, value
		}
	}
	return "", 0
}
