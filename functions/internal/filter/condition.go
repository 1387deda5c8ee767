package list

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/functions/internal/spelling"
	"github.com/stoker-ml/stoker/functions/runs"
)

// anyOf is a condition on numbers: with = and !=, on any of several.
func (t term) anyOf(f field, read func(string) (v value, message, hint string)) (holds func(*runs.Summary, time.Time) bool, message, hint string) {
	var wanted []float64
	for _, written := range t.single() {
		v, message, hint := read(written)
		if message != "" {
			return nil, message, hint
		}
		wanted = append(wanted, v.number)
	}
	return func(r *runs.Summary, now time.Time) bool {
		v, has := f.of(r, now)
		return has && compares(v.number, t.operator, wanted)
	}, "", ""
}

// single returns the values without the one that repeats all of them.
func (t term) single() []string {
	if last := len(t.values) - 1; last > 1 && strings.Contains(t.values[last], ",") {
		return t.values[:last]
	}
	return t.values
}

func compares(v float64, operator string, wanted []float64) bool {
	switch operator {
	case "=":
		return slices.Contains(wanted, v)
	case "!=":
		return !slices.Contains(wanted, v)
	}
	return ordered(cmp.Compare(v, wanted[0]), operator)
}

func ordered(order int, operator string) bool {
	switch operator {
	case ">":
		return order > 0
	case ">=":
		return order >= 0
	case "<":
		return order < 0
	}
	return order <= 0
}

func (t term) textCondition(f field) (holds func(*runs.Summary, time.Time) bool, message, hint string) {
	values := t.values
	if f.name == "state" && t.operator != "~" {
		values = t.single()
		for _, v := range values {
			if !slices.Contains(runs.States(), v) {
				hint := strings.TrimPrefix(spelling.Suggestion(v, runs.States()), "; ")
				return nil, "no state is named " + v, cmp.Or(hint, "the states are "+strings.Join(runs.States(), ", "))
			}
		}
	}
	part := strings.ToLower(values[0])
	return func(r *runs.Summary, now time.Time) bool {
		v, has := f.of(r, now)
		switch {
		case !has:
			return false
		case t.operator == "~":
			return contains(v.text, part)
		}
		same := slices.Contains(values, v.text)
		if f.name == "model" {
			same = same || slices.ContainsFunc(values, func(id string) bool { return isModel(v.text, id) })
		}
		return same == (t.operator == "=")
	}, "", ""
}

// isModel reports whether an id, as lists show it, is that of the model at an address: the
// beginning of the digest of its execution.
func isModel(address, id string) bool {
	const least = 8
	return len(id) >= least && strings.HasPrefix(path.Base(path.Dir(strings.TrimSuffix(address, "/"))), strings.TrimPrefix(id, "sha256:"))
}

// parameterCondition compares numbers where both sides are numbers, and else texts.
func (t term) parameterCondition(f field) (holds func(*runs.Summary, time.Time) bool, message, hint string) {
	var numbers []float64
	for _, v := range t.values {
		if n, ok := numberOf(v); ok {
			numbers = append(numbers, n)
		}
	}
	part, equality := strings.ToLower(t.values[0]), t.operator == "=" || t.operator == "!="
	if !equality && t.operator != "~" && len(numbers) == 0 {
		return nil, "expected a number after " + t.operator + ", got " + t.values[0], "use = != ~ with texts"
	}
	return func(r *runs.Summary, now time.Time) bool {
		v, has := f.of(r, now)
		if !has {
			return false
		}
		n, is := numberOf(v.text)
		switch {
		case t.operator == "~":
			return contains(v.text, part)
		case equality:
			return (slices.Contains(t.values, v.text) || is && slices.Contains(numbers, n)) == (t.operator == "=")
		}
		return is && compares(n, t.operator, numbers)
	}, "", ""
}

// momentCondition compares times. A duration counts back from the time of the comparison.
func (t term) momentCondition(f field) (holds func(*runs.Summary, time.Time) bool, message, hint string) {
	operator := t.operator
	switch f.name {
	case since:
		f, operator = fieldOf("updated"), ">="
	case until:
		f, operator = fieldOf("updated"), "<="
	}
	written := t.values[0]
	back, isBack := durationOf(written)
	point, isPoint := momentOf(written)
	if len(t.values) > 1 || !isBack && !isPoint {
		return nil, "expected a time, got " + written, "write 2d for two days ago, 2026-11-01 or 2026-11-01T14:30"
	}
	return func(r *runs.Summary, now time.Time) bool {
		v, has := f.of(r, now)
		bound := point
		if isBack {
			bound = now.Add(-back)
		}
		return has && ordered(cmp.Compare(v.number, at(bound).number), operator)
	}, "", ""
}

func fieldOf(name string) field {
	f, _ := fieldNamed(name)
	return f
}

// momentOf reads a time: a date, or a date and a time, in UTC unless it names its zone.
func momentOf(written string) (time.Time, bool) {
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339} {
		if t, err := time.Parse(layout, written); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// maxDuration keeps a duration before now within what a time can hold.
const maxDuration = 100 * 365 * 24 * time.Hour

// durationOf reads a duration: those of Go, and days and weeks.
func durationOf(written string) (time.Duration, bool) {
	if n, ok := strings.CutSuffix(written, "w"); ok {
		return days(n, 7)
	}
	if n, ok := strings.CutSuffix(written, "d"); ok {
		return days(n, 1)
	}
	d, err := time.ParseDuration(written)
	return d, err == nil && d >= 0 && d <= maxDuration
}

func days(n string, each float64) (time.Duration, bool) {
	number, ok := numberOf(n)
	hours := number * each * 24
	return time.Duration(hours * float64(time.Hour)), ok && hours >= 0 && hours <= maxDuration.Hours()
}
