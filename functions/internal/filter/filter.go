package filter

import (
	"fmt"
	"strings"
	"time"
)

// Filter selects items. The zero Filter selects all. Parse has the language.
type Filter[T any] struct {
	terms []term[T]
	text  string
}

// Term is one condition as it is written.
type Term struct {
	Name     string // "" for a text
	Operator string
	Values   []string
	Whole    string // several values without quotes, with their commas: a value may be a list
}

// term is a condition, and where it stands in the text.
type term[T any] struct {
	Term
	from, to int
	holds    func(item *T, now time.Time) bool
}

// Limits of a filter.
const (
	MaxBytes = 1000
	maxTerms = 32
)

// Parse reads a filter:
//
//	filter   = { term }                        all terms must hold
//	term     = name operator value | text
//	name     = word                            a field
//	operator = "=" | "!=" | ">" | ">=" | "<" | "<=" | "~"
//	value    = word { "," word }               with = and !=, any of several
//	text     = word                            in one of the texts of an item
//	word     = characters without a space or operator | '"' characters '"'
//
// Spaces around an operator do not count. In quotes, \" and \\ stand for " and \. The character ~
// means "contains", without regard to case, as a text does. After an operator a word ends at the
// next space.
//
// Durations are written 90s, 10m, 2h, 3d or 1w; times as a duration before now, or as 2026-11-01 or
// 2026-11-01T14:30 in UTC. An item without a value does not match, whatever the operator.
//
// The error is an *Error; the filter then has the terms before it.
func Parse[T any](text string, language Language[T]) (Filter[T], error) {
	f := Filter[T]{text: text}
	if len(text) > MaxBytes {
		return Filter[T]{}, &Error{Text: text[:MaxBytes], To: MaxBytes, Message: fmt.Sprintf("the filter has %d bytes; at most %d are read", len(text), MaxBytes)}
	}
	in := reader[T]{lexer{text: text}, language}
	for in.more() {
		t, err := in.term()
		if err != nil {
			return f, err
		}
		if len(f.terms) == maxTerms {
			return f, in.fault(t.from, t.to, fmt.Sprintf("at most %d terms are read", maxTerms), "")
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
func (f Filter[T]) String() string { return f.text }

// Empty reports whether the filter selects all items.
func (f Filter[T]) Empty() bool { return len(f.terms) == 0 }

// Matches reports whether an item is selected. now is the time that durations count back from.
// Texts are looked for last, since that takes longest.
func (f Filter[T]) Matches(item *T, now time.Time) bool {
	for _, ofText := range []bool{false, true} {
		for i := range f.terms {
			if t := &f.terms[i]; (t.Name == "") == ofText && !t.holds(item, now) {
				return false
			}
		}
	}
	return true
}

// Has returns the values that the filter admits for a name by terms NAME=VALUE.
func (f Filter[T]) Has(name string) (values []string) {
	for _, t := range f.terms {
		if t.Name == name && t.Operator == "=" {
			values = append(values, t.Values...)
		}
	}
	return values
}

// Keep returns the filter with those of its terms that keep reports.
func (f Filter[T]) Keep(keep func(Term) bool) Filter[T] {
	var kept []term[T]
	var text strings.Builder
	for _, t := range f.terms {
		if !keep(t.Term) {
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
	return Filter[T]{kept, text.String()}
}

// Without returns the filter without the terms with a name.
func (f Filter[T]) Without(name string) Filter[T] {
	return f.Keep(func(t Term) bool { return t.Name != name })
}

// With returns the text of the filter with NAME=VALUE instead of the terms with that name.
func (f Filter[T]) With(name, value string) string {
	return strings.TrimLeft(f.Without(name).text+" "+name+"="+Quote(value), " ")
}

// Quote returns a value as a filter has it, in quotes if it needs them.
func Quote(value string) string {
	if value != "" && !strings.ContainsAny(value, "\"\\,=!<>~ ") && len(strings.Fields(value)) == 1 && strings.Fields(value)[0] == value {
		return value
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
}

// operators are those that the language has, and what people write instead of them.
var (
	operators = []string{"=", "!=", ">", ">=", "<", "<=", "~"}
	mistaken  = map[string]string{"==": "=", "===": "=", "=<": "<=", "=>": ">=", "<>": "!=", "=~": "~", "~=": "~"}
)
