package console

import (
	"fmt"
	"html/template"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/report"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/console/chart"
	"github.com/stoker-ml/stoker/functions/runs/studies"
)

// studiesView is the list of studies.
type studiesView struct {
	Studies []studyLine
	Leaf    leaf
}

type studyLine struct {
	summary
	URL template.URL
}

const studiesPerPage = 50

func (c *Console) studiesPage() page {
	return page{
		nav: "studies", template: "studies", title: func(any) string { return "Studies" }, fragments: []string{"studies-table"}, breath: shortly,
		build: func(r *http.Request) (any, error) {
			list, err := c.studies.list(r.Context(), "")
			if err != nil {
				return nil, err
			}
			list, at := leafOf(r, list, studiesPerPage)
			view := studiesView{Leaf: at}
			for _, one := range list {
				view.Studies = append(view.Studies, studyLine{one, link("/study", "pipeline", one.Name.Pipeline, "id", one.Name.ID)})
			}
			return view, nil
		},
	}
}

// studyView is one study.
type studyView struct {
	Name       events.Study
	State      string
	Report     report.Report
	Objective  string
	Best       []report.Row
	BestValues []nameValue
	Coords     *chart.CoordinatesView
	Progress   *chartView
	Importance []report.Importance
	Names      []string // headings of the table's columns
	Trials     []trialLine
	Leaf       leaf
	Sort       string
	Took       time.Duration
	Commands   []commandLine
}

type trialLine struct {
	report.Row
	InWords string // its state in words
	Values  []string
	Path    string // the trial's line through the parallel coordinates
}

const trialsPerPage = 50

func (c *Console) studyPage() page {
	return page{
		nav: "studies", template: "study", breath: shortly, title: func(view any) string { return "Study of " + view.(studyView).Name.Pipeline },
		fragments: []string{"study-head", "study-charts", "study-table"},
		build:     func(r *http.Request) (any, error) { return c.studyView(r) },
	}
}

// study returns the study that a request names.
func (c *Console) study(r *http.Request) (studies.State, error) {
	name := events.Study{Pipeline: r.FormValue("pipeline"), ID: r.FormValue("id")}
	if err := name.Validate(); err != nil {
		return studies.State{}, badRequest("%s", err)
	}
	return c.studies.read(r.Context(), name)
}

// studyPicture returns a study's parallel coordinates as a picture, for pages without JavaScript.
func (c *Console) studyPicture(w http.ResponseWriter, r *http.Request) {
	state, err := c.study(r)
	if err != nil {
		c.fail(w, r, err)
		return
	}
	rows := report.Of(&state.Study).Trials
	axes := chart.CoordinatesOf(&state.Study, rows, report.Explain(&state.Study).Parameters)
	w.Header().Set("Content-Type", "image/svg+xml")
	// It has its own style, and no script.
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	_, _ = io.WriteString(w, axes.Picture(rows)) // the client may be gone
}

func (c *Console) studyView(r *http.Request) (view studyView, err error) {
	state, err := c.study(r)
	if err != nil {
		return view, err
	}
	s, name := &state.Study, state.Name
	view = studyView{Name: name, State: studyState(s), Report: report.Of(s), Sort: r.FormValue("sort")}
	view.Objective = objectiveOf(s)
	view.Took = view.Report.Last.Sub(view.Report.Begun)
	view.Importance = report.Explain(s).Parameters
	view.best()
	axes := chart.CoordinatesOf(s, view.Report.Trials, view.Importance)
	if view.Coords = axes.View(view.Report.Trials); view.Coords != nil {
		view.Coords.Picture = link("/study/picture.svg", "pipeline", name.Pipeline, "id", name.ID)
	}
	view.progress(s)
	view.table(r, axes)
	f := frame{c: c}
	view.Commands = []commandLine{
		{"Follow it in a terminal", f.Command("studies show", name.ID[:min(12, len(name.ID))], "-f")},
		{"Export it as CSV, JSON and for TensorBoard's HParams page", f.Command("studies export", name.ID[:min(12, len(name.ID))])},
	}
	return view, nil
}

func objectiveOf(s *tune.Study) string {
	var list []string
	for _, o := range s.Config.Objectives {
		list = append(list, fmt.Sprintf("%s (%s)", o.Name, o.Direction))
	}
	return strings.Join(list, ", ")
}

func (v *studyView) best() {
	for _, row := range v.Report.Trials {
		if row.Best && row.Score != nil {
			v.Best = append(v.Best, row)
		}
	}
	if len(v.Best) > 0 {
		for _, value := range v.Best[0].Values {
			v.BestValues = append(v.BestValues, nameValue{value.Name, chart.ValueText(value.Of)})
		}
	}
}

// progress adds each trial's score, and the best of those that ended before it.
func (v *studyView) progress(s *tune.Study) {
	if len(s.Config.Objectives) == 0 {
		return
	}
	direction := s.Config.Objectives[0].Direction
	done := slices.DeleteFunc(slices.Clone(v.Report.Trials), func(row report.Row) bool { return row.Score == nil })
	slices.SortStableFunc(done, func(a, b report.Row) int { return a.Ended.Compare(b.Ended) })
	scores, best := chart.Series{Part: "score"}, chart.Series{Part: "best so far"}
	var leader *float64
	for i, row := range done {
		if !row.Breaks && (leader == nil || direction.Better(*row.Score, *leader)) {
			leader = row.Score
		}
		scores.Points = append(scores.Points, chart.Point{Step: float64(i + 1), Value: *row.Score})
		if leader != nil {
			best.Points = append(best.Points, chart.Point{Step: float64(i + 1), Value: *leader})
		}
	}
	if len(done) < 2 {
		return
	}
	views := viewsOf([]chart.Chart{{Metric: s.Config.Objectives[0].Name, Axis: "completed trials", Lines: []chart.Series{scores, best}}})
	v.Progress = &views[0]
}

// table adds a page of the trials: by score, or in the order in which they began.
func (v *studyView) table(r *http.Request, axes chart.Coordinates) {
	rows := slices.Clone(v.Report.Trials)
	if v.Sort != "begun" {
		v.Sort = "score"
		slices.SortStableFunc(rows, func(a, b report.Row) int { return axes.Compare(a, b) })
	}
	rows, v.Leaf = leafOf(r, rows, trialsPerPage)
	v.Names = axes.Names()
	for _, row := range rows {
		line := trialLine{Row: row, InWords: v.Report.InWords(row), Path: axes.Path(row)}
		for _, name := range v.Names {
			value, _ := row.Values.Lookup(name)
			line.Values = append(line.Values, chart.ValueText(value))
		}
		v.Trials = append(v.Trials, line)
	}
}
