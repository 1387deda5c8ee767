package filter

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/functions/internal/spelling"
)

// condition returns the condition of a term on a field, or why there is none.
func condition[T any](t Term, f Field[T]) (holds func(*T, time.Time) bool, message, hint string) {
	switch f.Kind {
	case Text:
		return textCondition(t, f)
	case Mixed:
		return mixedCondition(t, f)
	case Moment:
		return momentCondition(t, f)
	case Truth:
		return anyOf(t, f, readTruth)
	case Duration:
		return anyOf(t, f, readDuration)
	}
	return anyOf(t, f, func(written string) (float64, string, string) {
		n, ok := NumberOf(written)
		if !ok {
			return 0, fmt.Sprintf("expected a number for %s, got %s", f.Name, written), ""
		}
		return n, "", ""
	})
}

func readTruth(written string) (v float64, message, hint string) {
	switch strings.ToLower(written) {
	case "yes", "true":
		return 1, "", ""
	case "no", "false":
		return 0, "", ""
	}
	return 0, "expected yes or no, got " + written, ""
}

func readDuration(written string) (seconds float64, message, hint string) {
	d, ok := ParseDuration(written)
	if !ok {
		return 0, "expected a duration, got " + written, "write 90s, 10m, 2h, 3d or 1w"
	}
	return d.Seconds(), "", ""
}

// anyOf is a condition on numbers: with = and !=, on any of several.
func anyOf[T any](t Term, f Field[T], read func(written string) (v float64, message, hint string)) (holds func(*T, time.Time) bool, message, hint string) {
	var wanted []float64
	for _, written := range t.Values {
		v, message, hint := read(written)
		if message != "" {
			return nil, message, hint
		}
		wanted = append(wanted, v)
	}
	return func(item *T, now time.Time) bool {
		v, has := f.Of(item, now)
		return has && compares(v.Number, t.Operator, wanted)
	}, "", ""
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

// is reports whether a text is one of the values of a term.
func (f Field[T]) is(text string, t Term) bool {
	return slices.Contains(t.Values, text) || t.Whole != "" && t.Whole == text ||
		f.Same != nil && slices.ContainsFunc(t.Values, func(written string) bool { return f.Same(text, written) })
}

func textCondition[T any](t Term, f Field[T]) (holds func(*T, time.Time) bool, message, hint string) {
	if f.Words != nil && t.Operator != "~" {
		for _, v := range t.Values {
			if !slices.Contains(f.Words, v) {
				hint := strings.TrimPrefix(spelling.Suggestion(v, f.Words), "; ")
				return nil, "no " + f.Name + " is named " + v, cmp.Or(hint, "the "+f.Name+"s are "+strings.Join(f.Words, ", "))
			}
		}
	}
	part := strings.ToLower(t.Values[0])
	return func(item *T, now time.Time) bool {
		v, has := f.Of(item, now)
		switch {
		case !has:
			return false
		case t.Operator == "~":
			return Contains(v.Text, part)
		}
		return f.is(v.Text, t) == (t.Operator == "=")
	}, "", ""
}

// mixedCondition compares numbers where both sides are numbers, and else texts.
func mixedCondition[T any](t Term, f Field[T]) (holds func(*T, time.Time) bool, message, hint string) {
	var numbers []float64
	for _, v := range t.Values {
		if n, ok := NumberOf(v); ok {
			numbers = append(numbers, n)
		}
	}
	part, equality := strings.ToLower(t.Values[0]), t.Operator == "=" || t.Operator == "!="
	if !equality && t.Operator != "~" && len(numbers) == 0 {
		return nil, "expected a number after " + t.Operator + ", got " + t.Values[0], "use = != ~ with texts"
	}
	return func(item *T, now time.Time) bool {
		v, has := f.Of(item, now)
		switch {
		case !has:
			return false
		case t.Operator == "~":
			return Contains(v.Text, part)
		case equality:
			return (f.is(v.Text, t) || v.IsNumber && slices.Contains(numbers, v.Number)) == (t.Operator == "=")
		}
		return v.IsNumber && compares(v.Number, t.Operator, numbers)
	}, "", ""
}

// momentCondition compares times. A duration counts back from the time of the comparison.
func momentCondition[T any](t Term, f Field[T]) (holds func(*T, time.Time) bool, message, hint string) {
	operator, written := cmp.Or(f.Bound, t.Operator), t.Values[0]
	back, isBack := ParseDuration(written)
	point, isPoint := momentOf(written)
	if len(t.Values) > 1 || !isBack && !isPoint {
		return nil, "expected a time, got " + written, "write 2d for two days ago, 2026-11-01 or 2026-11-01T14:30"
	}
	return func(item *T, now time.Time) bool {
		v, has := f.Of(item, now)
		bound := point
		if isBack {
			bound = now.Add(-back)
		}
		return has && ordered(cmp.Compare(v.Number, At(bound).Number), operator)
	}, "", ""
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

// ParseDuration reads a duration: those of Go, and days and weeks, like 7d and 2w. It reports false
// for a negative one, one of more than 100 years, and for other texts.
func ParseDuration(written string) (time.Duration, bool) {
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
	number, ok := NumberOf(n)
	hours := number * each * 24
	return time.Duration(hours * float64(time.Hour)), ok && hours >= 0 && hours <= maxDuration.Hours()
}
