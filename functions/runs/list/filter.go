package list

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/functions/internal/filter"
	"github.com/stoker-ml/stoker/functions/internal/mask"
	"github.com/stoker-ml/stoker/functions/internal/spelling"
	"github.com/stoker-ml/stoker/functions/runs"
)

// Filter selects runs. The zero Filter selects all.
type Filter = filter.Filter[runs.Summary]

// Parse reads a filter, which is written as filter.Parse has it. A text is looked for in the name,
// the model and the error.
//
// A name is one of Fields, or a metric or parameter in names. With the prefix metric. or param. it
// need not be in names. A name that is both a metric and a parameter needs the prefix, unless only
// one of them can have the value: metrics are numbers. The fields since and until bound the time of
// the last change.
//
// The error is a *filter.Error, and the filter then selects all.
func Parse(text string, names Names) (Filter, error) {
	f, err := filter.Parse(text, filter.Language[runs.Summary]{Field: names.field, Has: has})
	if err != nil {
		return Filter{}, err
	}
	return f, nil
}

// has reports whether a run has a word, in lower case, in a text.
func has(r *runs.Summary, word string) bool {
	return named(r, word) || filter.Contains(r.Model, word) || filter.Contains(r.Error, word) && filter.Contains(mask.Text(r.Error), word)
}

// named reports whether a run has a word in PIPELINE/RUN.
func named(r *runs.Summary, word string) bool {
	return filter.Contains(r.Run, word) || filter.Contains(r.Pipeline, word) ||
		strings.Contains(word, "/") && filter.Contains(r.Pipeline+"/"+r.Run, word)
}

// field returns the field of a term, or why there is none.
func (n Names) field(t filter.Term) (f field, message, hint string) {
	switch t.Name {
	case since:
		return field{Name: since, Kind: filter.Moment, Of: fieldOf("updated").Of, Bound: ">="}, "", ""
	case until:
		return field{Name: until, Kind: filter.Moment, Of: fieldOf("updated").Of, Bound: "<="}, "", ""
	}
	if f, ok := fieldNamed(t.Name); ok {
		return f, "", ""
	}
	hasNumbers, isParameter := n.parameters[t.Name]
	isMetric := n.metrics[t.Name]
	isText := t.Operator == "~" || t.Whole != "" || slices.ContainsFunc(t.Values, func(v string) bool { return !filter.IsNumber(v) })
	switch {
	case isMetric && hasNumbers && !isText:
		return f, t.Name + " is a metric and a parameter", fmt.Sprintf("write %s%s or %s%[2]s", metricPrefix, t.Name, parameterPrefix)
	case isMetric && (!isParameter || !isText):
		return metricField(t.Name), "", ""
	case isParameter:
		return parameterField(t.Name), "", ""
	}
	return f, "no field, metric or parameter is named " + t.Name, n.hint(t.Name)
}

// hint suggests a name that was probably meant.
func (n Names) hint(name string) string {
	known := n.all()
	if near := spelling.Suggestion(name, known); near != "" {
		return strings.TrimPrefix(near, "; ")
	}
	if i := slices.IndexFunc(known, func(one string) bool { return len(name) > 2 && filter.Contains(one, strings.ToLower(name)) }); i >= 0 {
		return "did you mean " + known[i] + "?"
	}
	return "for one that no run has yet, write " + metricPrefix + name + " or " + parameterPrefix + name
}
