package console

import (
	"net/http"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/console/chart"
	"github.com/stoker-ml/stoker/functions/internal/mask"
	"github.com/stoker-ml/stoker/functions/runs"
)

// compareView is the curves of several runs in one picture.
type compareView struct {
	Runs    []comparedRun
	Metrics []string // columns of the table
	Charts  []chartView
	Notes   []string
}

// comparedRun is one of the runs.
type comparedRun struct {
	runLine
	Label  string
	Values []string // in the order of Metrics
}

// mostCompared is the number of lines in a picture.
const mostCompared = 8

func (c *Console) comparePage() page {
	return page{
		nav: "runs", template: "compare", title: func(any) string { return "Compare runs" },
		fragments: []string{"compare-table", "compare-charts"},
		build:     func(r *http.Request) (any, error) { return c.compareView(r) },
	}
}

func (c *Console) compareView(r *http.Request) (view compareView, err error) {
	if err := r.ParseForm(); err != nil {
		return view, badRequest("%s", err)
	}
	asked := slices.Compact(slices.Sorted(slices.Values(r.Form["run"])))
	if len(asked) > mostCompared {
		view.Notes = append(view.Notes, "At most eight runs can be compared; the first eight are shown.")
		asked = asked[:mostCompared]
	}
	var all []chart.Chart
	metrics := make([]map[string]float64, 0, len(asked))
	labels := labelsOf(asked)
	for i, name := range asked {
		pipeline, run, ok := strings.Cut(name, "/")
		if !ok || events.CheckName("pipeline", pipeline) != nil || events.CheckRun("run", run) != nil {
			return view, badRequest("run=%s: expected pipeline/run", name)
		}
		charts, line, ended, note := c.curvesOf(r, key{Pipeline: pipeline, Run: run})
		if note != "" {
			view.Notes = append(view.Notes, labels[i]+": "+note)
		}
		for _, one := range charts {
			for _, s := range one.Lines {
				s.Run = labels[i]
				all = chart.WithLine(all, one.Metric, one.Axis, s)
			}
		}
		view.Runs = append(view.Runs, comparedRun{runLine: line, Label: labels[i]})
		metrics = append(metrics, ended)
	}
	view.table(metrics)
	view.Charts = viewsOf(chart.Ordered(all))
	return view, nil
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

// curvesOf returns a run's curves: of an active run those that were followed, else those of its
// log.
func (c *Console) curvesOf(r *http.Request, k key) (charts []chart.Chart, line runLine, metrics map[string]float64, note string) {
	var known, over bool
	address := ""
	read := func(one run) {
		line, charts, metrics = one.line(), one.curves.Charts(), one.Result.Metrics
		address, over = one.Result.ModelRun, one.Over()
	}
	c.model.View(func(x *runs.Index) {
		var one run
		if one, known = c.model.run(x, k); known {
			read(one)
		}
	})
	if !known {
		logged, err := c.readLog(r.Context(), k) // it was dropped from memory
		if err != nil {
			line.Pipeline, line.Run, line.Key = k.Pipeline, k.Run, k.Pipeline+"/"+k.Run
			line.URL = link("/run", "pipeline", k.Pipeline, "run", k.Run)
			return nil, line, nil, mask.Text(err.Error())
		}
		read(run{Run: logged})
	}
	if !over || address == "" {
		return charts, line, metrics, ""
	}
	ref, err := c.ours(address)
	if err != nil {
		return charts, line, metrics, err.Error()
	}
	log := c.curves.read(r.Context(), ref.String())
	if len(log.charts) > 0 {
		charts = log.charts
	}
	return charts, line, metrics, log.note
}

func (v *compareView) table(metrics []map[string]float64) {
	for _, of := range metrics {
		for name := range of {
			if !slices.Contains(v.Metrics, name) {
				v.Metrics = append(v.Metrics, name)
			}
		}
	}
	slices.Sort(v.Metrics)
	for i := range v.Runs {
		for _, name := range v.Metrics {
			text := "–"
			if value, there := metrics[i][name]; there {
				text = chart.Short(value)
			}
			v.Runs[i].Values = append(v.Runs[i].Values, text)
		}
	}
}
