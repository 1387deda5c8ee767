package console

import (
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/compute/tune/report"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/console/chart"
	"github.com/stoker-ml/stoker/functions/internal/filter"
	"github.com/stoker-ml/stoker/functions/internal/mask"
	"github.com/stoker-ml/stoker/functions/runs"
)

// studyView is one study.
type studyView struct {
	Name        events.Study
	State       string
	Report      report.Report
	Objectives  []objectiveLine
	Counts      []trialCount
	Done        float64 // part of its trials that have ended; 0: its number is not known
	Best        []trialLine
	BestNames   []string
	BestValues  []nameValue
	BestURL     template.URL
	Coords      *chart.Coordinates
	Progress    *chartView
	Volume      *chartView
	Explanation report.Explanation
	Slices      []pictureView
	MoreSlices  template.URL // the address with slices of all parameters; "": there are no more
	Contour     *contourView
	Pareto      *contourView
	Steps       *pictureView
	Timeline    *pictureView
	Table       trialTable
	Took        time.Duration
	Commands    []commandLine
}

// objectiveLine is an objective, and which scores are better.
type objectiveLine struct{ Name, Direction string }

// trialCount is how many trials have a state, and the address of their table.
type trialCount struct {
	State string
	Count int
	URL   template.URL
}

// nameTable is a small table.
type nameTable struct {
	Caption string
	List    []nameValue
}

// Limits of a page.
const (
	firstSlices = 6
	maxSlices   = 48
	maxFront    = 50 // trials of a Pareto front that are listed
)

func (c *Console) studyPage() page {
	return page{
		nav: "studies", template: "study", breath: shortly, title: func(view any) string { return "Study of " + view.(studyView).Name.Pipeline },
		fragments: []string{"study-head", "study-charts", "study-slices", "study-coords", "study-steps", "study-table"},
		build:     func(r *http.Request) (any, error) { return c.studyView(r) },
	}
}

// drawnStudy returns the study that a request names.
func (c *Console) drawnStudy(r *http.Request) (drawnStudy, error) {
	name := events.Study{Pipeline: r.FormValue("pipeline"), ID: r.FormValue("id")}
	if err := name.Validate(); err != nil {
		return drawnStudy{}, badRequest("%s", err)
	}
	return c.studies.draw(r.Context(), name)
}

func (c *Console) studyView(r *http.Request) (view studyView, err error) {
	d, err := c.drawnStudy(r)
	if err != nil {
		return view, err
	}
	s := &d.State.Study
	view = studyView{Name: d.Name, State: studyState(s), Report: d.Report, Explanation: d.Explanation}
	for _, o := range s.Config.Objectives {
		view.Objectives = append(view.Objectives, objectiveLine{o.Name, directionInWords(o.Direction)})
	}
	view.Took = view.Report.Last.Sub(view.Report.Begun)
	if view.Report.Finished != nil {
		ended := *view.Report.Finished
		ended.Message = mask.Text(runs.PlainText(ended.Message))
		view.Report.Finished = &ended
	}
	view.count(d)
	view.best(d)
	view.Coords = d.Coordinates()
	if view.Coords != nil {
		view.Coords.Picture, view.Coords.Data = d.pictureURL("parallel"), d.dataURL(dataLines)
	}
	view.charts(d)
	view.pictures(r, d)
	view.Table = tableOf(r, d)
	f := frame{c: c}
	id := d.Name.ID[:min(12, len(d.Name.ID))]
	view.Commands = []commandLine{
		{"Follow it in a terminal", f.Command("studies show", id, "-f")},
		{"Export it as CSV, JSON and for TensorBoard's HParams page", f.Command("studies export", id)},
	}
	if view.State == studyRunning {
		view.Commands = append(view.Commands, commandLine{"End it with the best trial so far", f.Command("studies stop", id)})
	}
	return view, nil
}

// count adds the numbers of trials by state.
func (v *studyView) count(d drawnStudy) {
	counts, ended := map[report.State]int{}, 0
	for _, row := range d.Rows() {
		counts[d.Report.State(row)]++
		if row.Parent == "" && !row.Ended.IsZero() {
			ended++
		}
	}
	for _, state := range report.States() {
		if n := counts[state]; n > 0 {
			url := link("/study", "pipeline", d.Name.Pipeline, "id", d.Name.ID, "q", byState+"="+filter.Quote(string(state))) + "#study-table"
			v.Counts = append(v.Counts, trialCount{string(state), n, url})
		}
	}
	if most := d.Report.MaxTrials; most > 0 {
		v.Done = min(1, float64(ended)/float64(most))
	}
}

// best adds the best trial, or the trials of the Pareto front.
func (v *studyView) best(d drawnStudy) {
	names := d.Columns()
	for i, row := range d.Rows() {
		if row.Best && row.Score != nil && len(v.Best) < maxFront {
			v.Best = append(v.Best, lineOfTrial(d, i, names))
		}
	}
	if len(v.Best) == 0 {
		return
	}
	v.BestNames, v.BestURL = names, v.Best[0].URL
	for _, value := range v.Best[0].Row.Values {
		v.BestValues = append(v.BestValues, nameValue{value.Name, chart.ValueText(value.Of)})
	}
	slices.SortStableFunc(v.Best, func(a, b trialLine) int { return d.Compare(a.Row, b.Row) })
}

// charts adds the drawings that the page's script can zoom.
func (v *studyView) charts(d drawnStudy) {
	view := func(of string, c chart.Chart, ok bool) *chartView {
		if !ok {
			return nil
		}
		drawn := viewOf(c, chart.View{})
		drawn.Data = string(d.dataURL(of))
		return &drawn
	}
	progress, ok := d.Progress()
	v.Progress = view(dataProgress, progress, ok)
	volume, ok := d.volume()
	v.Volume = view(dataVolume, volume, ok)
}

// volume returns the chart of the dominated hypervolume; false if there is none.
func (d drawnStudy) volume() (c chart.Chart, ok bool) {
	points := d.Hypervolume()
	return chart.Chart{Metric: "hypervolume", Axis: "completed trials", Lines: []chart.Series{{Points: points}}}, points != nil
}

// kept returns the rest of an address as hidden fields of a form.
func kept(r *http.Request, without ...string) (fields []nameValue) {
	for name, values := range r.URL.Query() {
		if slices.Contains(append(without, "seen", "after", "before"), name) || len(values) == 0 || values[0] == "" {
			continue
		}
		fields = append(fields, nameValue{name, values[0]})
	}
	slices.SortFunc(fields, func(a, b nameValue) int { return strings.Compare(a.Name, b.Name) })
	return fields
}

// linkWith returns the address of a request with other values; "" removes one.
func linkWith(r *http.Request, pairs ...string) template.URL {
	query := r.URL.Query()
	query.Del("seen")
	for i := 0; i+1 < len(pairs); i += 2 {
		if query.Del(pairs[i]); pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	return template.URL(strings.TrimPrefix(r.URL.Path, "/live") + "?" + query.Encode())
}
