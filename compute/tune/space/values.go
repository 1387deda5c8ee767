package space

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Key is equal for equal trials: the values by name, whatever their order, without the tuner's own.
// It is not for reading.
func (v Values) Key() string {
	sorted := slices.DeleteFunc(slices.Clone(v), func(value Value) bool { return strings.HasPrefix(value.Name, Own) })
	slices.SortFunc(sorted, func(a, b Value) int { return cmp.Compare(a.Name, b.Name) })
	key := make([]byte, 0, 32*len(sorted))
	for _, value := range sorted {
		key = appendKey(appendSized(key, value.Name), value.Of)
	}
	return string(key)
}

// appendKey writes one text for what same says is equal. The first letter says what follows, and a
// text is preceded by its length, so that no two lists of values run into one key.
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

// Map is the values by name.
func (v Values) Map() map[string]any {
	values := make(map[string]any, len(v))
	for _, value := range v {
		values[value.Name] = value.Of
	}
	return values
}

// With is the values with one more, or with another in its place.
func (v Values) With(name string, of any) Values {
	values := slices.Clone(v)
	if i := slices.IndexFunc(values, func(value Value) bool { return value.Name == name }); i >= 0 {
		values[i].Of = of
		return values
	}
	return append(values, Value{name, of})
}
