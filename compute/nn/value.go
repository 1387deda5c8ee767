package nn

import "fmt"

// Value is one column of a batch: what is fed to an input, or computed by a node. Row major, of shape [rows, Width]; the one
// slice that Kind names is set and holds rows*Width elements.
type Value struct {
	Kind    ValueKind
	Width   int
	Floats  []float32
	Ints    []int64
	Strings [][]byte // not copied: they may point into a reader's buffer
}

// Floats is a Value of float32.
func Floats(width int, v ...float32) Value { return Value{Kind: Float32, Width: width, Floats: v} }

// Ints is a Value of int64.
func Ints(width int, v ...int64) Value { return Value{Kind: Int64, Width: width, Ints: v} }

// Strings is a Value of byte strings.
func Strings(width int, v ...string) Value {
	s := make([][]byte, len(v))
	for i := range v {
		s[i] = []byte(v[i])
	}
	return Value{Kind: String, Width: width, Strings: s}
}

// Type is the kind and width of a Value.
type Type struct {
	Kind  ValueKind
	Width int
}

// String is like float32[b,3].
func (t Type) String() string { return fmt.Sprintf("%s[b,%d]", t.Kind, t.Width) }

// String is the name TensorFlow gives the element type.
func (k ValueKind) String() string {
	switch k {
	case Float32:
		return "float32"
	case Int64:
		return "int64"
	case String:
		return "string"
	}
	return fmt.Sprintf("ValueKind(%d)", int(k))
}

// len is the number of elements, whatever their kind.
func (v Value) len() int {
	switch v.Kind {
	case Int64:
		return len(v.Ints)
	case String:
		return len(v.Strings)
	default:
		return len(v.Floats)
	}
}

// fits says why v is not rows values of type t.
func (v Value) fits(t Type, rows int) error {
	if v.Kind != t.Kind || v.Width != t.Width {
		return fmt.Errorf("is %s, expected %s", Type{v.Kind, v.Width}, t)
	}
	if v.len() != rows*t.Width {
		return fmt.Errorf("holds %d elements, expected %d rows of %d", v.len(), rows, t.Width)
	}
	return nil
}

// grow makes v a Value of type t for that many rows, keeping its buffer where that is large enough.
func (v *Value) grow(t Type, rows int) {
	v.Kind, v.Width = t.Kind, t.Width
	n := rows * t.Width
	switch t.Kind {
	case Int64:
		v.Ints = resize(v.Ints, n)
	case String:
		v.Strings = resize(v.Strings, n)
	default:
		v.Floats = resize(v.Floats, n)
	}
}

func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
