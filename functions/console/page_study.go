package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/report"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/console/chart"
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

// pictureView is a drawing that a page loads once it is in sight.
type pictureView struct {
	Key, Label    string
	URL           template.URL
	Width, Height int
}

// contourView is a drawing of two of several values.
type contourView struct {
	pictureView
	X, Y    string
	Choices []string
	Keep    []nameValue // the rest of the address
}

// choiceView is the form in which two of several values are chosen.
type choiceView struct {
	View                        contourView
	NameX, NameY, First, Second string
}

func choiceOf(v contourView, nameX, nameY, first, second string) choiceView {
	return choiceView{v, nameX, nameY, first, second}
}

// nameTable is a small table.
type nameTable struct {
	Caption string
	List    []nameValue
}

// Limits of a page.
const (
	trialsPerPage = 50
	firstSlices   = 6
	maxSlices     = 48
	maxFront      = 50 // trials of a Pareto front that are listed
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
		view.Coords.Picture = d.pictureURL("parallel")
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
			url := link("/study", "pipeline", d.Name.Pipeline, "id", d.Name.ID, "q", byState+"="+quotedTerm(string(state))) + "#study-table"
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
		v.BestValues = append(v.BestValues, nameValue{value.Name, shownValue(value.Name, value.Of)})
	}
	slices.SortStableFunc(v.Best, func(a, b trialLine) int { return d.Compare(a.Row, b.Row) })
}

// shownValue formats the value of a parameter, without secrets.
func shownValue(name string, value any) string {
	if _, text := value.(string); text && mask.Name(name) {
		return mask.Hidden
	}
	return mask.Text(chart.ValueText(value))
}

// charts adds the drawings that the page's script can zoom.
func (v *studyView) charts(d drawnStudy) {
	if progress, ok := d.Progress(); ok {
		v.Progress = &viewsOf([]chart.Chart{progress}, chart.View{})[0]
	}
	if volume := d.Hypervolume(); volume != nil {
		v.Volume = &viewsOf([]chart.Chart{{Metric: "hypervolume", Axis: "completed trials", Lines: []chart.Series{{Points: volume}}}}, chart.View{})[0]
	}
}

// pictureURL returns the address of a drawing of this version of the study.
func (d drawnStudy) pictureURL(kind string, pairs ...string) template.URL {
	return link("/study/picture.svg", append([]string{"pipeline", d.Name.Pipeline, "id", d.Name.ID, "kind", kind, "v", d.version()}, pairs...)...)
}

// pictures adds the drawings that are loaded once they are in sight.
func (v *studyView) pictures(r *http.Request, d drawnStudy) {
	if d.Scored() == 0 || len(d.Scores) == 0 {
		v.timeline(d)
		return
	}
	most := firstSlices
	if r.FormValue("slices") == "all" {
		most = maxSlices
	} else if len(d.Parameters) > firstSlices {
		v.MoreSlices = linkWith(r, "slices", "all")
	}
	var names []string
	for i, p := range d.Parameters {
		names = append(names, p.Name)
		if i < most {
			label := fmt.Sprintf("%s by %s", d.Scores[0].Name, p.Name)
			v.Slices = append(v.Slices, pictureView{"slice-" + strconv.Itoa(i), label, d.pictureURL("slice", "x", p.Name), 340, 220})
		}
	}
	if len(names) > 1 {
		x, y := chosenTwo(r.FormValue("x"), r.FormValue("y"), names)
		view := pictureView{"contour", fmt.Sprintf("%s by %s and %s", d.Scores[0].Name, x, y), d.pictureURL("contour", "x", x, "y", y), 560, 400}
		v.Contour = &contourView{view, x, y, names, kept(r, "x", "y")}
	}
	if n := len(d.Scores); n > 1 {
		var objectives []string
		for _, score := range d.Scores {
			objectives = append(objectives, score.Name)
		}
		x, y := chosenTwo(r.FormValue("px"), r.FormValue("py"), objectives)
		view := pictureView{"pareto", fmt.Sprintf("Pareto front of %s and %s", x, y), d.pictureURL("pareto", "x", x, "y", y), 560, 360}
		v.Pareto = &contourView{view, x, y, objectives, kept(r, "px", "py")}
	}
	if d.HasCurves() {
		v.Steps = &pictureView{"steps", "Intermediate values of " + d.Scores[0].Name, d.pictureURL("steps"), 1100, 300}
	}
	v.timeline(d)
}

func (v *studyView) timeline(d drawnStudy) {
	if height := d.TimelineHeight(); height > 0 {
		v.Timeline = &pictureView{"timeline", "When trials ran, by job", d.pictureURL("timeline"), 1100, height}
	}
}

// chosenTwo returns two different names: those that are asked for, else the first ones.
func chosenTwo(x, y string, names []string) (first, second string) {
	if !slices.Contains(names, x) {
		x = names[0]
	}
	if y == x || !slices.Contains(names, y) {
		y = names[0]
		if x == y {
			y = names[1]
		}
	}
	return x, y
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

// studyPicture answers with a drawing of a study.
func (c *Console) studyPicture(w http.ResponseWriter, r *http.Request) {
	d, err := c.drawnStudy(r)
	if err != nil {
		c.fail(w, r, err)
		return
	}
	kind, x, y := r.FormValue("kind"), r.FormValue("x"), r.FormValue("y")
	draw, known := map[string]func() string{
		"": d.Picture, "parallel": d.Picture, "steps": d.Intermediate,
		"slice":    func() string { return d.Slice(x) },
		"contour":  func() string { return d.Contour(x, y) },
		"pareto":   func() string { return d.Pareto(d.objective(x), d.objective(y)) },
		"timeline": func() string { return d.Timeline(d.State.Study.Last) },
	}[kind]
	if !known {
		c.fail(w, r, notThere("There is no drawing of kind %q.", kind))
		return
	}
	svg := ""
	if d.names(kind, x, y) {
		svg = c.studies.picture(d, strings.Join([]string{kind, strconv.Quote(x), strconv.Quote(y)}, " "), draw)
	}
	if svg == "" {
		c.fail(w, r, notThere("The study has nothing to draw there."))
		return
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	// It has its own style, and no script.
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	if r.FormValue("v") == d.version() {
		w.Header().Set("Cache-Control", "private, max-age=600")
	}
	_, _ = io.WriteString(w, svg) // the client may be gone
}

// names reports whether the study has what a drawing is of, so that clients can't fill the book
// with names of their own.
func (d drawnStudy) names(kind, x, y string) bool {
	has := func(list []*chart.Dimension, name string) bool {
		return slices.ContainsFunc(list, func(one *chart.Dimension) bool { return one.Name == name })
	}
	switch kind {
	case "slice":
		return has(d.Parameters, x) && y == ""
	case "contour":
		return has(d.Parameters, x) && has(d.Parameters, y)
	case "pareto":
		return has(d.Scores, x) && has(d.Scores, y)
	}
	return x == "" && y == ""
}

func (d drawnStudy) objective(name string) int {
	return slices.IndexFunc(d.Scores, func(one *chart.Dimension) bool { return one.Name == name })
}

// trialTable is a page of the study's trials.
type trialTable struct {
	Heads   []sortHead
	Trials  []trialLine
	Total   int // trials that the filter selects
	All     int
	From    int
	To      int
	First   template.URL
	Before  template.URL
	After   template.URL
	Filter  string
	Fault   string
	Clear   template.URL
	State   string // the one that is chosen
	States  []string
	Keep    []nameValue
	Brushes string // what the filter selects on the axes of the parallel coordinates, as JSON
	Rest    string // the rest of the filter
}

// trialLine is one trial of a table.
type trialLine struct {
	Row     report.Row
	State   string
	InWords string
	Message string
	Values  []string
	Scores  []*float64
	Line    string // through the parallel coordinates
	URL     template.URL
}

func lineOfTrial(d drawnStudy, i int, names []string) trialLine {
	row := d.Rows()[i]
	line := trialLine{Row: row, State: string(d.Report.State(row)), InWords: d.Report.InWords(row), Line: d.Line(i), URL: trialURL(d.Name, row.Trial)}
	line.Message = mask.Text(runs.FirstLine(runs.PlainText(row.Message)))
	for _, name := range names {
		value, _ := row.Values.Lookup(name)
		line.Values = append(line.Values, shownValue(name, value))
	}
	line.Scores = d.ScoresOf(i)
	return line
}

func trialURL(study events.Study, trial string) template.URL {
	return link("/trial", "pipeline", study.Pipeline, "id", study.ID, "trial", trial)
}

// tableOf returns the trials that a request filters, in its order, from its cursor on.
func tableOf(r *http.Request, d drawnStudy) trialTable {
	filter := parseTrialFilter(r.FormValue("q"), knownTo(d.Study))
	if states, chosen := r.Form["state"]; chosen { // of the form: "" is for any
		text := filter.without(byState)
		if states[0] != "" {
			text += " " + byState + "=" + quotedTerm(states[0])
		}
		filter = parseTrialFilter(text, knownTo(d.Study))
	}
	t := trialTable{All: len(d.Rows()), Filter: filter.text, Fault: filter.fault, State: filter.only(byState), Keep: kept(r, "q", "state")}
	t.Clear = linkWith(r, "q", "", "state", "", "after", "", "before", "")
	for _, state := range report.States() {
		t.States = append(t.States, string(state))
	}
	by := r.FormValue("sort")
	rows := sortedTrials(d, filter, by)
	t.Total = len(rows)
	names := d.Columns()
	t.heads(r, d, names, by)
	t.cut(r, d, rows, names)
	list, rest := filter.brushes(d.Axes())
	text, err := json.Marshal(list)
	if err == nil && list != nil {
		t.Brushes = string(text)
	}
	t.Rest = rest
	return t
}

// sortedTrials returns the rows that a filter selects: by score, or by a value of which missing
// ones are last.
func sortedTrials(d drawnStudy, filter trialFilter, by string) (rows []int) {
	all := d.Rows()
	for i, row := range all {
		if filter.matches(d.Study, row) {
			rows = append(rows, i)
		}
	}
	name, descending := strings.CutPrefix(by, "-")
	if name == "" || !knownTo(d.Study)(name) {
		slices.SortStableFunc(rows, func(a, b int) int { return d.Compare(all[a], all[b]) })
		return rows
	}
	values := make(map[int]any, len(rows))
	for _, i := range rows {
		values[i] = trialValue(d.Study, all[i], name)
	}
	slices.SortStableFunc(rows, func(a, b int) int {
		if values[a] == nil || values[b] == nil {
			return cmp.Compare(boolOf(values[a] == nil), boolOf(values[b] == nil))
		}
		order := compareValues(values[a], values[b])
		if descending {
			return -order
		}
		return order
	})
	return rows
}

func boolOf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// compareValues orders numbers before texts.
func compareValues(a, b any) int {
	x, number := report.Number(a)
	y, also := report.Number(b)
	if number && also {
		return cmp.Compare(x, y)
	}
	return cmp.Or(cmp.Compare(boolOf(!number), boolOf(!also)), strings.Compare(chart.ValueText(a), chart.ValueText(b)))
}

func (t *trialTable) heads(r *http.Request, d drawnStudy, names []string, by string) {
	address := func(sort string) template.URL {
		return linkWith(r, "sort", sort, "after", "", "before", "") + "#study-table"
	}
	add := func(name, label string, number bool) {
		t.Heads = append(t.Heads, headOf(name, label, by, number, address))
	}
	add(byTrial, "Trial", false)
	add(byState, "State", false)
	for _, score := range d.Scores {
		add(score.Name, score.Name, true)
	}
	if by == "" && len(d.Scores) > 0 {
		head := &t.Heads[2]
		head.Order = map[tune.Direction]string{tune.Max: "descending", tune.Min: "ascending"}[d.Direction()]
	}
	for _, name := range names {
		add(name, name, true)
	}
	add(byStep, "Best at step", true)
	add(bySeconds, "Seconds", true)
}

// cut adds the trials after or before a cursor, which is a trial of the list: others may have come
// since.
func (t *trialTable) cut(r *http.Request, d drawnStudy, rows []int, names []string) {
	all := d.Rows()
	at := func(trial string) int {
		return slices.IndexFunc(rows, func(i int) bool { return all[i].Trial == trial })
	}
	from := 0
	if after := r.FormValue("after"); after != "" {
		from = at(after) + 1
	} else if before := r.FormValue("before"); before != "" {
		from = max(0, at(before)-trialsPerPage)
	}
	to := min(len(rows), from+trialsPerPage)
	for _, i := range rows[from:to] {
		t.Trials = append(t.Trials, lineOfTrial(d, i, names))
	}
	t.From, t.To = min(from+1, to), to
	if from > 0 {
		t.Before = linkWith(r, "before", all[rows[from]].Trial, "after", "") + "#study-table"
		t.First = linkWith(r, "before", "", "after", "") + "#study-table"
	}
	if to < len(rows) {
		t.After = linkWith(r, "after", all[rows[to-1]].Trial, "before", "") + "#study-table"
	}
}

// quotedTerm returns a value as a filter has it.
func quotedTerm(value string) string {
	if value != "" && !strings.ContainsAny(value, "\"\\,=!<>~ ") {
		return value
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
}
