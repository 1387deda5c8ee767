package console

import (
	"cmp"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/functions/console/chart"
	"github.com/stoker-ml/stoker/functions/runs"
)

// runsView is the list of runs.
type runsView struct {
	Query, Pipeline, State string
	Pipelines              []string
	States                 []stateCount
	Runs                   []runLine
	Leaf                   leaf
	Known                  int
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
			view := c.model.runsView(r)
			c.addSparks(view.Runs)
			return view, nil
		},
	}
}

// runsView lists the selected runs, the most recently updated first.
func (m *model) runsView(r *http.Request) runsView {
	view := runsView{Query: r.FormValue("q"), Pipeline: r.FormValue("pipeline"), State: r.FormValue("state")}
	m.View(func(x *runs.Index) {
		view.Known, view.Pipelines = x.Len(), m.pipelines(x)
		counts, matching := map[string]int{}, []runs.Summary{}
		for _, one := range m.states(x) {
			if !matches(one, view.Pipeline, view.Query) {
				continue
			}
			counts[one.State]++
			if view.State == "" || one.State == view.State {
				matching = append(matching, one)
			}
		}
		view.States = statesOf(view, counts)
		slices.SortFunc(matching, func(a, b runs.Summary) int {
			return cmp.Or(b.Updated.Compare(a.Updated), strings.Compare(a.Pipeline, b.Pipeline), strings.Compare(a.Run, b.Run))
		})
		matching, view.Leaf = leafOf(r, matching, runsPerPage)
		for _, one := range matching {
			r, _ := m.run(x, one.Key())
			view.Runs = append(view.Runs, r.line())
		}
	})
	return view
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

func matches(r runs.Summary, pipeline, query string) bool {
	if pipeline != "" && r.Pipeline != pipeline {
		return false
	}
	query = strings.ToLower(strings.TrimSpace(query))
	return query == "" || strings.Contains(strings.ToLower(r.Run), query) || strings.Contains(r.Pipeline, query) ||
		strings.Contains(strings.ToLower(r.Model), query) || strings.Contains(strings.ToLower(r.Error), query)
}

func statesOf(view runsView, counts map[string]int) []stateCount {
	total := 0
	for _, n := range counts {
		total += n
	}
	list := []stateCount{{State: "all", Count: total, URL: link("/runs", "pipeline", view.Pipeline, "q", view.Query), Now: view.State == ""}}
	for _, state := range runs.States() {
		if counts[state] == 0 && state != view.State {
			continue
		}
		list = append(list, stateCount{state, counts[state], link("/runs", "state", state, "pipeline", view.Pipeline, "q", view.Query), state == view.State})
	}
	return list
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
