package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"
)

// columns are those that every study has, by Row's names.
var columns = []struct {
	name string
	cell func(Row) string
}{
	{"trial", func(r Row) string { return r.Trial }},
	{"status", func(r Row) string { return string(r.Status) }},
	{"best", func(r Row) string { return strconv.FormatBool(r.Best) }},
	{"score", func(r Row) string {
		if r.Score == nil {
			return ""
		}
		return cell(*r.Score)
	}},
	{"step", func(r Row) string { return count(r.Step) }},
	{"parent", func(r Row) string { return r.Parent }},
	{"from", func(r Row) string { return count(r.From) }},
	{"epochs", func(r Row) string { return count(r.Epochs) }},
	{"bracket", func(r Row) string { return count(r.Bracket) }},
	{"round", func(r Row) string { return count(r.Round) }},
	{"stopped", func(r Row) string { return count(r.Stopped) }},
	{"breaks_constraints", func(r Row) string { return strconv.FormatBool(r.Breaks) }},
	{"tries", func(r Row) string { return count(r.Tries) }},
	{"started", func(r Row) string { return moment(r.Started) }},
	{"ended", func(r Row) string { return moment(r.Ended) }},
	{"seconds", func(r Row) string {
		if r.Ended.IsZero() {
			return ""
		}
		return cell(r.Seconds)
	}},
	{"message", func(r Row) string { return r.Message }},
}

// CSV writes one row a trial below a header. Values and metrics are columns named with the prefixes
// "values." and "metrics."; the cell of an inactive parameter is empty.
func (r Report) CSV(w io.Writer) error {
	out := csv.NewWriter(w)
	_ = r.WriteCSV(out) // Error returns it
	out.Flush()
	return out.Error()
}

// WriteCSV is CSV by a writer that has a delimiter of its own, and which it doesn't flush.
func (r Report) WriteCSV(out *csv.Writer) error {
	values, metrics := r.names()
	var header []string
	for _, c := range columns {
		header = append(header, c.name)
	}
	for _, name := range values {
		header = append(header, "values."+name)
	}
	for _, name := range metrics {
		header = append(header, "metrics."+name)
	}
	if err := out.Write(header); err != nil {
		return err
	}
	for _, row := range r.Trials {
		if err := out.Write(row.cells(values, metrics)); err != nil {
			return err
		}
	}
	return nil
}

// names returns those of all values and metrics: values in the order of their first occurrence,
// metrics by name.
func (r Report) names() (values, metrics []string) {
	for _, row := range r.Trials {
		for _, value := range row.Values {
			if !slices.Contains(values, value.Name) {
				values = append(values, value.Name)
			}
		}
		for name := range row.Metrics {
			if !slices.Contains(metrics, name) {
				metrics = append(metrics, name)
			}
		}
	}
	slices.Sort(metrics)
	return values, metrics
}

func (r Row) cells(values, metrics []string) (cells []string) {
	for _, c := range columns {
		cells = append(cells, c.cell(r))
	}
	for _, name := range values {
		value, _ := r.Values.Lookup(name)
		cells = append(cells, cell(value))
	}
	for _, name := range metrics {
		if value, there := r.Metrics[name]; there {
			cells = append(cells, cell(value))
			continue
		}
		cells = append(cells, "")
	}
	return cells
}

// cell formats a value as text: a float with the fewest digits that read back the same, nothing for
// nil.
func cell(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	default:
		return fmt.Sprint(v)
	}
}

func count(n int) string { return strconv.Itoa(n) }

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
