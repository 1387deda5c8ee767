package space

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Space has the parameters of a search in the order in which they were registered: parents come
// before their children. A parameter's identity is its name together with its conditions.
type Space []Parameter

// Parameter is one hyperparameter.
type Parameter struct {
	Name       string
	Kind       Kind
	Conditions []Condition // the parameter is active if all of them hold

	Min, Max float64  // of Int and Float, both inclusive
	Step     float64  // 0: none; added if Sampling is linear, else multiplied by
	Sampling Sampling // of Int and Float
	Choices  []any    // of Choice: int64s, float64s or strings
	Ordered  bool     // of Choice
	Fixed    any      // of Fixed: int64, float64, string or bool

	// Default is a value as in Values; nil if none was given, which means the minimum, the first
	// choice, or false.
	Default any
}

// Kind is a type of KerasTuner's.
type Kind string

// The kinds, by KerasTuner's class names.
const (
	Int     Kind = "Int"
	Float   Kind = "Float"
	Choice  Kind = "Choice"
	Boolean Kind = "Boolean"
	Fixed   Kind = "Fixed"
)

// Sampling is the scale on which values are spread evenly.
type Sampling string

// The samplings.
const (
	Linear     Sampling = "linear"
	Log        Sampling = "log"
	ReverseLog Sampling = "reverse_log"
)

// Condition holds if a parent that is active itself has one of some values.
type Condition struct {
	Parent string
	Values []any
}

// Values are the values of a trial's parameters, in their order; inactive ones have none. Hyperband
// and its variants add values without a parameter: tuner/epochs and so on.
type Values []Value

// Value is one named value.
type Value struct {
	Name string
	Of   any // int64, float64, string or bool
}

// Lookup returns the value of a name.
func (v Values) Lookup(name string) (any, bool) {
	for _, value := range v {
		if value.Name == name {
			return value.Of, true
		}
	}
	return nil, false
}

// Contains reports whether values are in the space: those of its active parameters are within their
// ranges, or among their choices, or their defaults. A missing value counts as its default, and one
// of no parameter, or of an inactive one, does not count.
func (s Space) Contains(values Values) bool {
	_, outside := s.Outside(values)
	return !outside
}

// Outside returns the first active parameter whose value is not in its range; false if the space
// contains the values.
func (s Space) Outside(values Values) (first Parameter, outside bool) {
	s.Fill(func(p Parameter) any {
		value, given := values.Lookup(p.Name)
		if !given {
			return p.Start()
		}
		value = p.cast(value)
		if !outside && !p.takes(value) && !same(value, p.Start()) {
			first, outside = p, true
		}
		return value
	})
	return first, outside
}

// takes reports whether a value of the parameter's kind is one of its values, or between two of
// them.
func (p Parameter) takes(value any) bool {
	switch p.Kind {
	case Int, Float:
		_, whole := value.(int64)
		number := toFloat(value) // NaN for a string
		return number >= p.Min && number <= p.Max && (whole || p.Kind == Float)
	case Choice:
		return oneOf(value, p.Choices)
	case Boolean:
		_, truth := value.(bool)
		return truth
	}
	return true
}

// Join adds the parameters of another space that are not known yet, in their order, but each after
// its parents. Known ones stay as they are, whatever their range in the other space.
func (s Space) Join(found Space) Space {
	joined := slices.Clone(s)
	left := slices.Clone(found)
	for len(left) > 0 {
		next := max(slices.IndexFunc(left, func(p Parameter) bool { return !p.awaits(left) }), 0)
		if p := left[next]; !joined.knows(p) {
			joined = append(joined, p)
		}
		left = slices.Delete(left, next, next+1)
	}
	return joined
}

// awaits reports whether a parent is among some parameters.
func (p Parameter) awaits(others Space) bool {
	return slices.ContainsFunc(p.Conditions, func(c Condition) bool {
		return slices.ContainsFunc(others, func(q Parameter) bool { return q.Name == c.Parent })
	})
}

// knows reports whether a parameter of the same name and conditions is in a space.
func (s Space) knows(p Parameter) bool {
	return slices.ContainsFunc(s, func(q Parameter) bool { return p.Is(q) })
}

// Is reports whether two parameters are the same: by their name and conditions, whatever their
// ranges.
func (p Parameter) Is(q Parameter) bool {
	return p.Name == q.Name && slices.EqualFunc(p.Conditions, q.Conditions, func(a, b Condition) bool {
		return a.Parent == b.Parent && slices.EqualFunc(a.Values, b.Values, same)
	})
}

// same reports whether two values are equal as in Python: 1, 1.0 and true are, because a Choice of
// booleans is stored as ones and zeros.
func same(a, b any) bool {
	text, isText := a.(string)
	other, otherIsText := b.(string)
	if isText || otherIsText {
		return isText && otherIsText && text == other
	}
	if x, ok := a.(int64); ok {
		if y, ok := b.(int64); ok {
			return x == y // also beyond 2^53
		}
	}
	return toFloat(a) == toFloat(b)
}

// oneOf reports whether a value is among others.
func oneOf(value any, others []any) bool { return position(value, others) >= 0 }

// position returns the index of a value among others; -1 if it isn't there.
func position(value any, others []any) int {
	for i, other := range others {
		if same(value, other) {
			return i
		}
	}
	return -1
}

// index returns the index of a value among a Choice's; for an unknown one that of the default.
func (p Parameter) index(value any) int {
	if i := position(value, p.Choices); i >= 0 {
		return i
	}
	return max(position(p.Default, p.Choices), 0)
}

// toFloat returns a number or a boolean as a float; NaN for anything else.
func toFloat(value any) float64 {
	switch v := value.(type) {
	case int64:
		return float64(v)
	case int:
		return float64(v)
	case float64:
		return v
	case bool:
		if v {
			return 1
		}
		return 0
	default:
		return math.NaN()
	}
}

// Stream is the randomness of one trial of a study: numbers that are a pure function of seed,
// trial, name and draw, so that nothing needs to be stored, and that are independent for different
// ones.
type Stream struct {
	seed  int64
	trial int
}

// NewStream returns the stream of a trial, by its number in the study.
func NewStream(seed int64, trial int) Stream { return Stream{seed, trial} }

// Float64 returns a uniform number in [0, 1): the draw of that number, from 0, under a name, which
// is a parameter's or one of the algorithm's own. It is 53 bits of a SHA-256 of the four.
func (s Stream) Float64(name string, draw int) float64 {
	text := make([]byte, 0, 24+len(name))
	text = binary.BigEndian.AppendUint64(text, uint64(s.seed))
	text = binary.BigEndian.AppendUint64(text, uint64(s.trial))
	text = binary.BigEndian.AppendUint64(text, uint64(draw))
	digest := sha256.Sum256(append(text, name...))
	return float64(binary.BigEndian.Uint64(digest[:])>>11) / (1 << 53)
}

// Key is equal for equal trials: the values by name, whatever their order, without the tuner's own.
// It is not for display.
func (v Values) Key() string {
	sorted := slices.DeleteFunc(slices.Clone(v), func(value Value) bool { return strings.HasPrefix(value.Name, Own) })
	slices.SortFunc(sorted, func(a, b Value) int { return cmp.Compare(a.Name, b.Name) })
	key := make([]byte, 0, 32*len(sorted))
	for _, value := range sorted {
		key = appendKey(appendSized(key, value.Name), value.Of)
	}
	return string(key)
}

// appendKey writes the same text for values that same calls equal. The first letter is the type of
// what follows, and a string is preceded by its length, so that no two lists of values have the
// same key.
func appendKey(key []byte, value any) []byte {
	switch v := value.(type) {
	case string:
		return appendSized(append(key, 's'), v)
	case int64:
		return append(strconv.AppendInt(append(key, 'i'), v, 10), ';')
	}
	f := toFloat(value)
	if f == math.Trunc(f) && math.Abs(f) <= maxInt {
		return append(strconv.AppendInt(append(key, 'i'), int64(f), 10), ';')
	}
	return append(strconv.AppendUint(append(key, 'f'), math.Float64bits(f), 36), ';')
}

func appendSized(key []byte, text string) []byte {
	return append(append(strconv.AppendInt(key, int64(len(text)), 10), ':'), text...)
}

// Map returns the values by name.
func (v Values) Map() map[string]any {
	values := make(map[string]any, len(v))
	for _, value := range v {
		values[value.Name] = value.Of
	}
	return values
}

// With returns the values with one added or replaced.
func (v Values) With(name string, of any) Values {
	values := slices.Clone(v)
	if i := slices.IndexFunc(values, func(value Value) bool { return value.Name == name }); i >= 0 {
		values[i].Of = of
		return values
	}
	return append(values, Value{name, of})
}
