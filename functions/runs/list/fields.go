package list

import (
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/functions/internal/mask"
	"github.com/stoker-ml/stoker/functions/runs"
)

// kind is how the values of a field are written and compared.
type kind int

const (
	text kind = iota
	number
	duration
	moment    // a point in time
	truth     // yes or no
	parameter // a number if it looks like one, else text
)

// value is a value of a field; moments are in microseconds since 1970, durations in seconds.
type value struct {
	text   string
	number float64
}

// field is something that a run has, by name.
type field struct {
	name string
	kind kind
	of   func(run *runs.Summary, now time.Time) (v value, has bool)
}

// The prefixes of names that are not fields of every run.
const (
	metricPrefix    = "metric."
	parameterPrefix = "param."
)

// fields are those of every run.
var fields = []field{
	{"pipeline", text, func(r *runs.Summary, _ time.Time) (value, bool) { return value{text: r.Pipeline}, true }},
	{"run", text, func(r *runs.Summary, _ time.Time) (value, bool) { return value{text: r.Run}, true }},
	{"state", text, func(r *runs.Summary, _ time.Time) (value, bool) {
		return value{text: r.State, number: float64(slices.Index(runs.States(), r.State))}, true
	}},
	{"model", text, func(r *runs.Summary, _ time.Time) (value, bool) { return value{text: r.Model}, r.Model != "" }},
	{"error", text, func(r *runs.Summary, _ time.Time) (value, bool) {
		return value{text: mask.Text(r.Error)}, r.Error != ""
	}},
	{"cached", truth, func(r *runs.Summary, _ time.Time) (value, bool) {
		if r.Cached {
			return value{text: "yes", number: 1}, true
		}
		return value{text: "no"}, r.State == runs.Trained
	}},
	{"revision", number, func(r *runs.Summary, _ time.Time) (value, bool) {
		return value{number: float64(r.Revision)}, r.Revision > 0
	}},
	{"attempts", number, func(r *runs.Summary, _ time.Time) (value, bool) {
		return value{number: float64(r.Attempts)}, r.Attempts > 0
	}},
	{"took", duration, func(r *runs.Summary, _ time.Time) (value, bool) { return value{number: r.Seconds}, r.Seconds > 0 }},
	{"started", moment, func(r *runs.Summary, _ time.Time) (value, bool) { return at(r.Started), !r.Started.IsZero() }},
	{"updated", moment, func(r *runs.Summary, _ time.Time) (value, bool) { return at(r.Updated), !r.Updated.IsZero() }},
	{"age", duration, func(r *runs.Summary, now time.Time) (value, bool) {
		return value{number: now.Sub(r.Updated).Seconds()}, !r.Updated.IsZero()
	}},
}

// The bounds of the last change, which are written since=2d and until=2026-11-01.
const (
	since = "since"
	until = "until"
)

func at(t time.Time) value { return value{number: float64(t.UnixMicro())} }

// Fields returns the names that every run has, since and until included.
func Fields() []string {
	names := make([]string, 0, len(fields)+2)
	for _, f := range fields {
		names = append(names, f.name)
	}
	return append(names, since, until)
}

func fieldNamed(name string) (field, bool) {
	if i := slices.IndexFunc(fields, func(f field) bool { return f.name == name }); i >= 0 {
		return fields[i], true
	}
	if metric, ok := strings.CutPrefix(name, metricPrefix); ok && metric != "" {
		return metricField(metric), true
	}
	if param, ok := strings.CutPrefix(name, parameterPrefix); ok && param != "" {
		return parameterField(param), true
	}
	return field{}, false
}

func metricField(name string) field {
	return field{metricPrefix + name, number, func(r *runs.Summary, _ time.Time) (value, bool) {
		v, has := r.Metrics[name]
		return value{number: v}, has
	}}
}

func parameterField(name string) field {
	return field{parameterPrefix + name, parameter, func(r *runs.Summary, _ time.Time) (value, bool) {
		raw, has := r.Parameters.Get(name)
		return value{text: raw}, has
	}}
}

// Names are the metrics and parameters that occur in runs. The zero value has none.
type Names struct {
	metrics    map[string]bool
	parameters map[string]bool // whether the values are numbers, in some runs at least
}

// NamesOf collects the names of the metrics and parameters of runs.
func NamesOf(all iter.Seq[runs.Summary]) Names {
	n := Names{map[string]bool{}, map[string]bool{}}
	for r := range all {
		for name := range r.Metrics {
			n.metrics[name] = true
		}
		for _, p := range r.Parameters {
			if !n.parameters[p.Name] {
				n.parameters[p.Name] = isNumber(p.Text())
			}
		}
	}
	return n
}

// Metrics returns the names of the metrics, sorted.
func (n Names) Metrics() []string { return slices.Sorted(maps.Keys(n.metrics)) }

// Parameters returns the names of the parameters, sorted.
func (n Names) Parameters() []string { return slices.Sorted(maps.Keys(n.parameters)) }

// all returns every name as it may be written, the shortest form of each.
func (n Names) all() []string {
	names := append(Fields(), n.Metrics()...)
	for _, name := range n.Parameters() {
		if !n.metrics[name] {
			names = append(names, name)
		} else {
			names = append(names, metricPrefix+name, parameterPrefix+name)
		}
	}
	return names
}

func isNumber(text string) bool {
	_, ok := numberOf(text)
	return ok
}

// numberOf reads a finite decimal number.
func numberOf(text string) (float64, bool) {
	if strings.Trim(text, "0123456789.+-eE") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil
}
