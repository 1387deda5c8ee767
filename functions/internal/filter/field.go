package filter

import (
	"strconv"
	"strings"
	"time"
)

// Kind is how the values of a field are written and compared.
type Kind int

// The kinds of fields.
const (
	Text Kind = iota
	Number
	Duration
	Moment // a point in time
	Truth  // yes or no
	Mixed  // numbers and texts
)

// Value is a value of a field; moments are in microseconds since 1970, durations in seconds.
type Value struct {
	Text     string
	Number   float64
	IsNumber bool // of a mixed field
}

// At returns the value of a time.
func At(t time.Time) Value { return Value{Number: float64(t.UnixMicro())} }

// MixedValue returns a text, and the number if it is written as one.
func MixedValue(text string) Value {
	n, is := NumberOf(text)
	return Value{text, n, is}
}

// NumberValue returns a number, and the text that people see for it.
func NumberValue(n float64, text string) Value { return Value{text, n, true} }

// Field is something that items have, by name.
type Field[T any] struct {
	Name string
	Kind Kind
	// Of returns the value of an item. Without one, the item matches no term of the field.
	Of func(item *T, now time.Time) (v Value, has bool)
	// Words are the only values of a text; nil if it can be any.
	Words []string
	// Same reports whether a text that is not equal to the written one is the same nevertheless; it
	// may be nil.
	Same func(v, written string) bool
	// Bound is the comparison that = stands for, the only operator of a moment that is a bound.
	Bound string
}

// Language is what a filter can say of items.
type Language[T any] struct {
	// Field returns the field that a term names. A message says why there is none, and a hint what
	// to write instead; the hint may be "".
	Field func(t Term) (f Field[T], message, hint string)
	// Has reports whether an item has a word, which is in lower case, in one of its texts.
	Has func(item *T, word string) bool
}

// Contains reports whether a text has a part, which is in lower case.
func Contains(text, part string) bool { return strings.Contains(strings.ToLower(text), part) }

// NumberOf reads a finite decimal number.
func NumberOf(text string) (float64, bool) {
	if strings.Trim(text, "0123456789.+-eE") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil
}

// IsNumber reports whether NumberOf reads a text.
func IsNumber(text string) bool {
	_, ok := NumberOf(text)
	return ok
}
