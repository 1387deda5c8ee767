package space

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Key is equal for equal trials: the values by name, whatever their order, without the tuner's own.
func (v Values) Key() string {
	sorted := slices.DeleteFunc(slices.Clone(v), func(value Value) bool { return strings.HasPrefix(value.Name, Own) })
	slices.SortFunc(sorted, func(a, b Value) int { return cmp.Compare(a.Name, b.Name) })
	var key strings.Builder
	for _, value := range sorted {
		key.WriteString(strconv.Quote(value.Name) + "=" + keyOf(value.Of) + ";")
	}
	return key.String()
}

// keyOf is one text for what same says is equal.
func keyOf(value any) string {
	switch v := value.(type) {
	case string:
		return strconv.Quote(v)
	case int64:
		return strconv.FormatInt(v, 10)
	default:
		f := toFloat(v)
		if f == math.Trunc(f) && math.Abs(f) <= maxInt {
			return strconv.FormatInt(int64(f), 10)
		}
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
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
