package list

import (
	"fmt"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/functions/internal/mask"
	"github.com/stoker-ml/stoker/functions/runs"
)

// Filter selects runs. The zero Filter selects all. Parse has the language.
type Filter struct {
	terms []term
	text  string
}

// term is one condition, and where it stands in the text.
type term struct {
	from, to int
	name     string // as it is written; "" for a text
	operator string
	values   []string
	holds    func(run *runs.Summary, now time.Time) bool
}

// Limits of a filter.
const (
	MaxBytes = 1000
	maxTerms = 24
)

// Parse reads a filter:
//
//	filter   = { term }                        all terms must hold
//	term     = name operator value | text
//	name     = word                            a field, a metric or a parameter
//	operator = "=" | "!=" | ">" | ">=" | "<" | "<=" | "~"
//	value    = word { "," word }               with = and !=, any of several
//	text     = word                            in the name, the model or the error
//	word     = characters without a space or operator | '"' characters '"'
//
// Spaces around an operator do not count. In quotes, \" and \\ stand for " and \. The character ~
// means "contains", without regard to case, as a text does. After an operator a word ends at the
// next space.
//
// A name is one of Fields, or a metric or parameter in names. With the prefix metric. or param. it
// need not be in names. A name that is both a metric and a parameter needs the prefix, unless only
// one of them can have the value: metrics are numbers.
//
// Durations are written 90s, 10m, 2h, 3d or 1w; times as a duration before now, or as 2026-11-01 or
// 2026-11-01T14:30 in UTC. The fields since and until bound the time of the last change. A run
// without a value does not match, whatever the operator.
//
// The error is an *Error.
func Parse(text string, names Names) (Filter, error) {
	f := Filter{text: text}
	if len(text) > MaxBytes {
		return Filter{}, &Error{Text: text[:MaxBytes], To: MaxBytes, Message: fmt.Sprintf("the filter has %d bytes; at most %d are read", len(text), MaxBytes)}
	}
	in := lexer{text: text}
	for in.more() {
		t, err := in.term(names)
		if err != nil {
			return Filter{}, err
		}
		if len(f.terms) == maxTerms {
			return Filter{}, in.fault(t.from, t.to, fmt.Sprintf("at most %d terms are read", maxTerms), "")
		}
		f.terms = append(f.terms, t)
	}
	return f, nil
}

// Error says which part of a filter can't be read, and why.
type Error struct {
	Text     string
	From, To int // the part, in bytes
	Message  string
	Hint     string // what to write instead; may be ""
}

func (e *Error) Error() string {
	where := fmt.Sprintf("character %d", 1+len([]rune(e.Text[:e.From])))
	if e.Hint == "" {
		return where + ": " + e.Message
	}
	return where + ": " + e.Message + "; " + e.Hint
}

// String returns the text that was parsed.
func (f Filter) String() string { return f.text }

// Empty reports whether the filter selects all runs.
func (f Filter) Empty() bool { return len(f.terms) == 0 }

// Matches reports whether a run is selected. now is the time that durations count back from.
func (f Filter) Matches(run *runs.Summary, now time.Time) bool {
	for _, t := range f.terms {
		if !t.holds(run, now) {
			return false
		}
	}
	return true
}

// Has returns the values that the filter admits for a name by terms NAME=VALUE.
func (f Filter) Has(name string) (values []string) {
	for _, t := range f.terms {
		if t.name == name && t.operator == "=" {
			values = append(values, t.single()...)
		}
	}
	return values
}

// Without returns the filter without the terms with a name.
func (f Filter) Without(name string) Filter {
	var kept []term
	var text strings.Builder
	for _, t := range f.terms {
		if t.name == name {
			continue
		}
		if text.Len() > 0 {
			text.WriteByte(' ')
		}
		from := text.Len()
		text.WriteString(f.text[t.from:t.to])
		t.from, t.to = from, text.Len()
		kept = append(kept, t)
	}
	return Filter{kept, text.String()}
}

// With returns the text of the filter with NAME=VALUE instead of the terms with that name.
func (f Filter) With(name, value string) string {
	return strings.TrimLeft(f.Without(name).text+" "+name+"="+Quote(value), " ")
}

// Quote returns a value as a filter has it, in quotes if it needs them.
func Quote(value string) string {
	if value != "" && !strings.ContainsAny(value, "\"\\,=!<>~ ") && len(strings.Fields(value)) == 1 && strings.Fields(value)[0] == value {
		return value
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
}

// contains reports whether a text has a part, which is in lower case.
func contains(text, part string) bool { return strings.Contains(strings.ToLower(text), part) }

// textTerm selects runs by a word that is no condition.
func textTerm(word string) func(*runs.Summary, time.Time) bool {
	word = strings.ToLower(word)
	return func(r *runs.Summary, _ time.Time) bool {
		return contains(r.Pipeline+"/"+r.Run, word) || contains(r.Model, word) ||
			contains(r.Error, word) && contains(mask.Text(r.Error), word)
	}
}

// operators are those that the language has, and what people write instead of them.
var (
	operators = []string{"=", "!=", ">", ">=", "<", "<=", "~"}
	mistaken  = map[string]string{"==": "=", "===": "=", "=<": "<=", "=>": ">=", "<>": "!=", "=~": "~", "~=": "~"}
)
