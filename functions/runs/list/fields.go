package list

import (
	"iter"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/functions/internal/filter"
	"github.com/stoker-ml/stoker/functions/internal/mask"
	"github.com/stoker-ml/stoker/functions/runs"
)

// field is something that a run has, by name.
type field = filter.Field[runs.Summary]

// value is a value of a field.
type value = filter.Value

// The prefixes of names that are not fields of every run.
const (
	metricPrefix    = "metric."
	parameterPrefix = "param."
)

// fields are those of every run.
var fields = []field{
	{Name: "pipeline", Of: func(r *runs.Summary, _ time.Time) (value, bool) { return value{Text: r.Pipeline}, true }},
	{Name: "run", Of: func(r *runs.Summary, _ time.Time) (value, bool) { return value{Text: r.Run}, true }},
	{Name: "state", Words: runs.States(), Of: func(r *runs.Summary, _ time.Time) (value, bool) {
		return value{Text: r.State, Number: float64(slices.Index(runs.States(), r.State))}, true
	}},
	{Name: "model", Same: isModel, Of: func(r *runs.Summary, _ time.Time) (value, bool) { return value{Text: r.Model}, r.Model != "" }},
	{Name: "error", Of: func(r *runs.Summary, _ time.Time) (value, bool) {
		return value{Text: mask.Text(r.Error)}, r.Error != ""
	}},
	{Name: "cached", Kind: filter.Truth, Of: func(r *runs.Summary, _ time.Time) (value, bool) {
		if r.Cached {
			return value{Number: 1}, true
		}
		return value{}, r.State == runs.Trained
	}},
	{Name: "revision", Kind: filter.Number, Of: func(r *runs.Summary, _ time.Time) (value, bool) {
		return value{Number: float64(r.Revision)}, r.Revision > 0
	}},
	{Name: "attempts", Kind: filter.Number, Of: func(r *runs.Summary, _ time.Time) (value, bool) {
		return value{Number: float64(r.Attempts)}, r.Attempts > 0
	}},
	{Name: "took", Kind: filter.Duration, Of: func(r *runs.Summary, _ time.Time) (value, bool) {
		return value{Number: r.Seconds}, r.Seconds > 0
	}},
	{Name: "started", Kind: filter.Moment, Of: func(r *runs.Summary, _ time.Time) (value, bool) {
		return filter.At(r.Started), !r.Started.IsZero()
	}},
	{Name: "updated", Kind: filter.Moment, Of: func(r *runs.Summary, _ time.Time) (value, bool) {
		return filter.At(r.Updated), !r.Updated.IsZero()
	}},
	{Name: "age", Kind: filter.Duration, Of: func(r *runs.Summary, now time.Time) (value, bool) {
		return value{Number: now.Sub(r.Updated).Seconds()}, !r.Updated.IsZero()
	}},
}

// isModel reports whether an id, as lists show it, is that of the model at an address: the
// beginning of the digest of its execution.
func isModel(address, id string) bool {
	const least = 8
	return len(id) >= least && strings.HasPrefix(path.Base(path.Dir(strings.TrimSuffix(address, "/"))), strings.TrimPrefix(id, "sha256:"))
}

// The bounds of the last change, which are written since=2d and until=2026-11-01.
const (
	since = "since"
	until = "until"
)

// Fields returns the names that every run has, since and until included.
func Fields() []string {
	names := make([]string, 0, len(fields)+2)
	for _, f := range fields {
		names = append(names, f.Name)
	}
	return append(names, since, until)
}

func fieldNamed(name string) (field, bool) {
	if i := slices.IndexFunc(fields, func(f field) bool { return f.Name == name }); i >= 0 {
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

func fieldOf(name string) field {
	f, _ := fieldNamed(name)
	return f
}

func metricField(name string) field {
	return field{Name: metricPrefix + name, Kind: filter.Number, Of: func(r *runs.Summary, _ time.Time) (value, bool) {
		v, has := r.Metrics[name]
		return value{Number: v}, has
	}}
}

func parameterField(name string) field {
	return field{Name: parameterPrefix + name, Kind: filter.Mixed, Of: func(r *runs.Summary, _ time.Time) (value, bool) {
		text, has := r.Parameters.Get(name)
		return filter.MixedValue(text), has
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
				n.parameters[p.Name] = filter.IsNumber(p.Text)
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
