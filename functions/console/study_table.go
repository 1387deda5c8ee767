package console

import (
	"cmp"
	"encoding/json"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/report"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/console/chart"
	"github.com/stoker-ml/stoker/functions/internal/filter"
	"github.com/stoker-ml/stoker/functions/internal/mask"
	"github.com/stoker-ml/stoker/functions/internal/spelling"
	"github.com/stoker-ml/stoker/functions/runs"
)

// trialsPerPage is how many trials a page of the table has.
const trialsPerPage = 50

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
		line.Values = append(line.Values, chart.ValueText(value))
	}
	line.Scores = d.ScoresOf(i)
	return line
}

func trialURL(study events.Study, trial string) template.URL {
	return link("/trial", "pipeline", study.Pipeline, "id", study.ID, "trial", trial)
}

// tableOf returns the trials that a request filters, in its order, from its cursor on.
func tableOf(r *http.Request, d drawnStudy) trialTable {
	selection, fault := parseTrials(d.Study, r.FormValue("q"))
	if states, chosen := r.Form["state"]; chosen { // of the form: "" is for any
		text := selection.Without(byState).String()
		if states[0] != "" {
			text = selection.With(byState, states[0])
		}
		selection, fault = parseTrials(d.Study, text)
	}
	t := trialTable{All: len(d.Rows()), Filter: selection.String(), Keep: kept(r, "q", "state")}
	if fault != nil {
		t.Fault = fault.Error()
	}
	if states := selection.Has(byState); len(states) == 1 {
		t.State = states[0]
	}
	t.Clear = linkWith(r, "q", "", "state", "", "after", "", "before", "")
	for _, state := range report.States() {
		t.States = append(t.States, string(state))
	}
	by := r.FormValue("sort")
	rows := sortedTrials(d, selection, by)
	t.Total = len(rows)
	names := d.Columns()
	t.heads(r, d, names, by)
	t.cut(r, d, rows, names)
	list, rest := brushes(selection, d.Axes())
	text, err := json.Marshal(list)
	if err == nil && list != nil {
		t.Brushes = string(text)
	}
	t.Rest = rest.String()
	return t
}

// sortedTrials returns the rows that a filter selects: by score, or by a value of which missing
// ones are last.
func sortedTrials(d drawnStudy, selection trialFilter, by string) (rows []int) {
	all := d.Rows()
	for i := range all {
		if selection.Matches(&all[i], time.Time{}) {
			rows = append(rows, i)
		}
	}
	name, descending := strings.CutPrefix(by, "-")
	f, known := trialField(d.Study, name)
	if !known {
		slices.SortStableFunc(rows, func(a, b int) int { return d.Compare(all[a], all[b]) })
		return rows
	}
	type place struct {
		value   filter.Value
		missing bool
	}
	places := make(map[int]place, len(rows))
	for _, i := range rows {
		v, has := f.Of(&all[i], time.Time{})
		places[i] = place{v, !has}
	}
	slices.SortStableFunc(rows, func(a, b int) int {
		one, other := places[a], places[b]
		if one.missing || other.missing {
			return cmp.Compare(boolOf(one.missing), boolOf(other.missing))
		}
		order := compareValues(one.value, other.value)
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
func compareValues(a, b filter.Value) int {
	if a.IsNumber && b.IsNumber {
		return cmp.Compare(a.Number, b.Number)
	}
	return cmp.Or(cmp.Compare(boolOf(!a.IsNumber), boolOf(!b.IsNumber)), strings.Compare(a.Text, b.Text))
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

// trialFilter selects trials.
type trialFilter = filter.Filter[report.Row]

// parseTrials reads a filter, which is written as filter.Parse has it. The names are state, trial,
// seconds, step, and the parameters and metrics of the study; a text is looked for in the trial,
// its values and its message. The filter has the terms before an error.
func parseTrials(s *chart.Study, text string) (trialFilter, error) {
	return filter.Parse(strings.TrimSpace(text), filter.Language[report.Row]{
		Has: trialHas,
		Field: func(t filter.Term) (f filter.Field[report.Row], message, hint string) {
			f, known := trialField(s, t.Name)
			if known {
				return f, "", ""
			}
			return f, "no trial has a value named " + t.Name, strings.TrimPrefix(spelling.Suggestion(t.Name, namesOf(s)), "; ")
		},
	})
}

// The names of a filter besides parameters and metrics.
const (
	byState   = "state"
	byTrial   = "trial"
	bySeconds = "seconds"
	byStep    = "step"
)

// namesOf returns the names that a filter may have, but those of metrics that are not objectives.
func namesOf(s *chart.Study) []string {
	names := []string{byState, byTrial, bySeconds, byStep}
	for _, d := range slices.Concat(s.Parameters, s.Scores) {
		names = append(names, d.Name)
	}
	return names
}

// trialField returns a field of trials by its name in a filter or an order; false for none.
func trialField(s *chart.Study, name string) (f filter.Field[report.Row], known bool) {
	f.Name = name
	switch name {
	case byState:
		for _, state := range report.States() {
			f.Words = append(f.Words, string(state))
		}
		f.Of = func(row *report.Row, _ time.Time) (filter.Value, bool) {
			return filter.Value{Text: string(s.Report.State(*row))}, true
		}
		return f, true
	case byTrial:
		f.Of = func(row *report.Row, _ time.Time) (filter.Value, bool) { return filter.Value{Text: row.Trial}, true }
		return f, true
	}
	f.Kind, f.Same = filter.Mixed, strings.EqualFold
	f.Of = func(row *report.Row, _ time.Time) (filter.Value, bool) { return trialValue(s, row, name) }
	return f, slices.Contains(namesOf(s), name) ||
		slices.ContainsFunc(s.Rows(), func(row report.Row) bool { _, there := row.Metrics[name]; return there })
}

// trialValue returns a parameter, a score, a metric, the seconds or the step of a trial.
func trialValue(s *chart.Study, row *report.Row, name string) (v filter.Value, has bool) {
	if value, there := row.Values.Lookup(name); there {
		v.Number, v.IsNumber = report.Number(value)
		v.Text = chart.ValueText(value)
		return v, value != nil
	}
	if len(s.Scores) > 0 && name == s.Scores[0].Name {
		if row.Score == nil {
			return v, false
		}
		return filter.NumberValue(*row.Score, chart.Short(*row.Score)), true
	}
	if value, there := row.Metrics[name]; there {
		return filter.NumberValue(value, chart.Short(value)), true
	}
	switch {
	case name == bySeconds && !row.Ended.IsZero():
		return filter.NumberValue(row.Seconds, chart.Short(row.Seconds)), true
	case name == byStep && row.Step > 0:
		return filter.NumberValue(float64(row.Step), strconv.Itoa(row.Step)), true
	}
	return v, false
}

// trialHas reports whether a trial has a word, in lower case, in a text.
func trialHas(row *report.Row, word string) bool {
	return strings.Contains(row.Trial, word) || filter.Contains(row.Message, word) && filter.Contains(mask.Text(row.Message), word) ||
		slices.ContainsFunc(row.Values, func(v space.Value) bool { return filter.Contains(chart.ValueText(v.Of), word) })
}

// brush is the part of an axis that a filter selects, as positions from 0 to 1.
type brush struct {
	Axis int     `json:"axis"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// brushes returns what a filter selects on some axes, and the rest of it.
func brushes(f trialFilter, axes []*chart.Dimension) (list []brush, rest trialFilter) {
	at := map[string]int{}
	for i, axis := range axes {
		at[axis.Name] = i
	}
	selected := map[int]*brush{}
	rest = f.Keep(func(t filter.Term) bool {
		i, drawn := at[t.Name]
		if !drawn {
			return true
		}
		low, high, ok := selectedPart(t, axes[i])
		if !ok {
			return true
		}
		if selected[i] == nil {
			selected[i] = &brush{i, 0, 1}
		}
		selected[i].Low, selected[i].High = max(selected[i].Low, low), min(selected[i].High, high)
		return false
	})
	for i := range axes {
		if b := selected[i]; b != nil {
			list = append(list, brush{i, min(b.Low, b.High), max(b.Low, b.High)})
		}
	}
	return list, rest
}

// selectedPart returns the part of an axis that a term selects; false for one that is not drawn.
func selectedPart(t filter.Term, d *chart.Dimension) (low, high float64, ok bool) {
	if d.Words != nil {
		if t.Operator != "=" {
			return 0, 0, false
		}
		low, high = 1, 0
		for _, word := range t.Values {
			i := slices.Index(d.Words, word)
			if i < 0 {
				return 0, 0, false
			}
			n := float64(len(d.Words))
			low, high = min(low, float64(i)/n), max(high, float64(i+1)/n)
		}
		return low, high, true
	}
	v, is := filter.NumberOf(t.Values[0])
	switch {
	case !is:
		return 0, 0, false
	case t.Operator == ">=":
		return d.Position(v), 1, true
	case t.Operator == "<=":
		return 0, d.Position(v), true
	}
	return 0, 0, false
}
