package console

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-ml/stoker/compute/tune/report"
	"github.com/stoker-ml/stoker/functions/console/chart"
	"github.com/stoker-ml/stoker/functions/internal/mask"
)

// trialFilter selects trials. It is written in the language of the list of runs:
//
//	filter   = { term }               all terms must hold
//	term     = name operator value | text
//	name     = word                   state, trial, seconds, step, a parameter or a metric
//	operator = "=" | "!=" | ">" | ">=" | "<" | "<=" | "~"
//	value    = word { "," word }      with = and !=, any of several
//	text     = word                   in the trial, its values or its message
//	word     = characters without a space or operator | '"' characters '"'
//
// A trial without a value does not match, whatever the operator.
type trialFilter struct {
	terms []trialTerm
	text  string
	fault string // why a part of it can't be read; that part does not count
}

// trialTerm is one condition; a text has no name.
type trialTerm struct {
	text     string // as it is written
	name     string
	operator string
	values   []string
}

// Limits of a filter.
const (
	maxFilter      = 1000
	maxFilterTerms = 32
)

// parseTrialFilter reads a filter. known reports whether trials can have values of a name.
func parseTrialFilter(text string, known func(name string) bool) (f trialFilter) {
	f.text = strings.TrimSpace(text)
	if len(f.text) > maxFilter {
		f.text, f.fault = "", fmt.Sprintf("the filter has %d bytes; at most %d are read", len(text), maxFilter)
		return f
	}
	for rest := f.text; ; {
		var t trialTerm
		t, rest = nextTerm(rest)
		switch {
		case t.text == "":
			return f
		case len(f.terms) == maxFilterTerms:
			f.fault = fmt.Sprintf("at most %d terms are read", maxFilterTerms)
			return f
		case t.operator != "" && !known(t.name):
			f.fault = fmt.Sprintf("no trial has a value named %q", t.name)
			return f
		case t.operator != "" && (len(t.values) == 0 || slices.Contains(t.values, "")):
			f.fault = fmt.Sprintf("%s: a value is missing after %s", t.text, t.operator)
			return f
		case strings.ContainsAny(t.operator, "<>") && !isNumber(t.values[0]):
			f.fault = fmt.Sprintf("%s: expected a number after %s", t.text, t.operator)
			return f
		}
		f.terms = append(f.terms, t)
	}
}

// nextTerm reads one term, and returns the rest; a term without a text at the end.
func nextTerm(text string) (t trialTerm, rest string) {
	text = strings.TrimLeft(text, " ")
	whole := text
	word, rest := filterWord(text, " =!<>~")
	after := strings.TrimLeft(rest, " ")
	for _, operator := range []string{"!=", ">=", "<=", "=", ">", "<", "~"} {
		value, ok := strings.CutPrefix(after, operator)
		if !ok || word == "" {
			continue
		}
		t.name, t.operator, rest = word, operator, strings.TrimLeft(value, " ")
		for {
			var one string
			one, rest = filterWord(rest, " ,")
			t.values = append(t.values, one)
			more, ok := strings.CutPrefix(rest, ",")
			if !ok || operator != "=" && operator != "!=" {
				break
			}
			rest = more
		}
		t.text = strings.TrimSpace(whole[:len(whole)-len(rest)])
		return t, rest
	}
	if word == "" && rest != "" { // an operator without a name is a text
		word, rest = rest[:1], rest[1:]
	}
	t.text, t.values = strings.TrimSpace(whole[:len(whole)-len(rest)]), []string{word}
	return t, rest
}

// filterWord reads a word up to one of some characters, or in quotes.
func filterWord(text, ends string) (word, rest string) {
	if !strings.HasPrefix(text, `"`) {
		at := strings.IndexAny(text, ends)
		if at < 0 {
			at = len(text)
		}
		return text[:at], text[at:]
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		case c == '"':
			return b.String(), text[i+1:]
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), ""
}

func isNumber(text string) bool {
	v, err := strconv.ParseFloat(text, 64)
	return err == nil && !math.IsNaN(v)
}

// The names of a filter besides parameters and metrics.
const (
	byState   = "state"
	byTrial   = "trial"
	bySeconds = "seconds"
	byStep    = "step"
)

// trialValue returns a value of a trial by its name in a filter or an order; nil for none.
func trialValue(s *chart.Study, row report.Row, name string) any {
	switch name {
	case byState:
		return string(s.Report.State(row))
	case byTrial:
		return row.Trial
	}
	if value, there := row.Values.Lookup(name); there {
		return value
	}
	if len(s.Scores) > 0 && name == s.Scores[0].Name {
		if row.Score == nil {
			return nil
		}
		return *row.Score
	}
	if value, there := row.Metrics[name]; there {
		return value
	}
	switch {
	case name == bySeconds && !row.Ended.IsZero():
		return row.Seconds
	case name == byStep && row.Step > 0:
		return int64(row.Step)
	}
	return nil
}

// knownTo returns a function that reports whether trials of a study can have values of a name.
func knownTo(s *chart.Study) func(string) bool {
	return func(name string) bool {
		if slices.Contains([]string{byState, byTrial, bySeconds, byStep}, name) {
			return true
		}
		named := func(d *chart.Dimension) bool { return d.Name == name }
		return slices.ContainsFunc(s.Parameters, named) || slices.ContainsFunc(s.Scores, named) ||
			slices.ContainsFunc(s.Rows(), func(row report.Row) bool { _, there := row.Metrics[name]; return there })
	}
}

// matches reports whether a trial is selected.
func (f trialFilter) matches(s *chart.Study, row report.Row) bool {
	for _, t := range f.terms {
		if !t.holds(s, row) {
			return false
		}
	}
	return true
}

func (t trialTerm) holds(s *chart.Study, row report.Row) bool {
	if t.operator == "" {
		return trialHas(row, strings.ToLower(t.values[0]))
	}
	value := trialValue(s, row, t.name)
	if value == nil {
		return false
	}
	switch t.operator {
	case "=":
		return slices.ContainsFunc(t.values, func(want string) bool { return isValue(value, want) })
	case "!=":
		return !slices.ContainsFunc(t.values, func(want string) bool { return isValue(value, want) })
	case "~":
		return strings.Contains(strings.ToLower(chart.ValueText(value)), strings.ToLower(t.values[0]))
	}
	v, ok := report.Number(value)
	limit, err := strconv.ParseFloat(t.values[0], 64)
	if !ok || err != nil {
		return false
	}
	switch t.operator {
	case ">":
		return v > limit
	case ">=":
		return v >= limit
	case "<":
		return v < limit
	}
	return v <= limit
}

// isValue compares a number as a number, and with the text that pages show.
func isValue(value any, want string) bool {
	if v, ok := report.Number(value); ok {
		if limit, err := strconv.ParseFloat(want, 64); err == nil && v == limit {
			return true
		}
	}
	return strings.EqualFold(chart.ValueText(value), want)
}

func trialHas(row report.Row, part string) bool {
	if strings.Contains(row.Trial, part) || strings.Contains(strings.ToLower(mask.Text(row.Message)), part) {
		return true
	}
	for _, value := range row.Values {
		if strings.Contains(strings.ToLower(chart.ValueText(value.Of)), part) {
			return true
		}
	}
	return false
}

// only returns the value of the single term NAME=VALUE with one value; "" for none.
func (f trialFilter) only(name string) string {
	for _, t := range f.terms {
		if t.name == name && t.operator == "=" && len(t.values) == 1 {
			return t.values[0]
		}
	}
	return ""
}

// without returns the text of the filter without terms with a name.
func (f trialFilter) without(name string) string {
	var kept []string
	for _, t := range f.terms {
		if t.name != name {
			kept = append(kept, t.text)
		}
	}
	return strings.Join(kept, " ")
}

// brush is the part of an axis that a filter selects, as positions from 0 to 1.
type brush struct {
	Axis int     `json:"axis"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// brushes returns what a filter selects on some axes, and the rest of its text.
func (f trialFilter) brushes(axes []*chart.Dimension) (list []brush, rest string) {
	at := map[string]int{}
	for i, axis := range axes {
		at[axis.Name] = i
	}
	selected, others := map[int]*brush{}, []string{}
	for _, t := range f.terms {
		i, drawn := at[t.name]
		low, high, ok := 0.0, 1.0, false
		if drawn {
			low, high, ok = t.part(axes[i])
		}
		if !ok {
			others = append(others, t.text)
			continue
		}
		if selected[i] == nil {
			selected[i] = &brush{i, 0, 1}
		}
		selected[i].Low, selected[i].High = max(selected[i].Low, low), min(selected[i].High, high)
	}
	for i := range axes {
		if b := selected[i]; b != nil {
			list = append(list, brush{i, min(b.Low, b.High), max(b.Low, b.High)})
		}
	}
	return list, strings.Join(others, " ")
}

// part returns the part of an axis that a term selects; false if it is not one that is drawn.
func (t trialTerm) part(d *chart.Dimension) (low, high float64, ok bool) {
	if d.Words != nil {
		if t.operator != "=" {
			return 0, 0, false
		}
		low, high = 1, 0
		for _, word := range t.values {
			i := slices.Index(d.Words, word)
			if i < 0 {
				return 0, 0, false
			}
			n := float64(len(d.Words))
			low, high = min(low, float64(i)/n), max(high, float64(i+1)/n)
		}
		return low, high, true
	}
	v, err := strconv.ParseFloat(t.values[0], 64)
	switch {
	case err != nil:
		return 0, 0, false
	case t.operator == ">=":
		return d.Position(v), 1, true
	case t.operator == "<=":
		return 0, d.Position(v), true
	}
	return 0, 0, false
}
