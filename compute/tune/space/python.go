package space

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
)

// object is a JSON object that keeps the order of its members.
type object []member

type member struct {
	name  string
	value any
}

// find returns the value of a member.
func (o object) find(name string) (any, bool) {
	for _, m := range o {
		if m.name == name {
			return m.value, true
		}
	}
	return nil, false
}

// appendPython writes a value as Python's json.dumps does: with ", " and ": ", floats as repr
// writes them, and only ASCII.
func appendPython(text []byte, value any) []byte {
	switch v := value.(type) {
	case nil:
		return append(text, "null"...)
	case bool:
		return strconv.AppendBool(text, v)
	case int64:
		return strconv.AppendInt(text, v, 10)
	case float64:
		return appendFloat(text, v)
	case string:
		return appendText(text, v)
	case []any:
		return append(appendList(append(text, '['), v), ']')
	case object:
		return append(appendMembers(append(text, '{'), v), '}')
	default:
		panic(fmt.Sprintf("space: a %T among the values of a parameter", value))
	}
}

func appendList(text []byte, list []any) []byte {
	for i, value := range list {
		if i > 0 {
			text = append(text, ", "...)
		}
		text = appendPython(text, value)
	}
	return text
}

func appendMembers(text []byte, members object) []byte {
	for i, m := range members {
		if i > 0 {
			text = append(text, ", "...)
		}
		text = appendPython(append(appendText(text, m.name), ": "...), m.value)
	}
	return text
}

// appendFloat writes a float as Python's repr does: with the fewest digits that read back the same,
// an exponent below 1e-04 and from 1e+16 on, and .0 on a whole number.
func appendFloat(text []byte, f float64) []byte {
	switch size := math.Abs(f); {
	case math.IsNaN(f):
		return append(text, "NaN"...)
	case math.IsInf(f, 1):
		return append(text, "Infinity"...)
	case math.IsInf(f, -1):
		return append(text, "-Infinity"...)
	case size != 0 && size < 1e-4, size >= 1e16:
		return strconv.AppendFloat(text, f, 'e', -1, 64)
	}
	digits := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(digits, ".") {
		digits += ".0"
	}
	return append(text, digits...)
}

// shortEscapes are the escapes that Python writes with one letter.
var shortEscapes = map[rune]string{
	'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\f': `\f`, '\b': `\b`,
}

// appendText writes a string with everything but printable ASCII escaped, as surrogates if it takes
// two.
func appendText(text []byte, s string) []byte {
	text = append(text, '"')
	for _, r := range s {
		if short, ok := shortEscapes[r]; ok {
			text = append(text, short...)
		} else if r >= ' ' && r <= '~' {
			text = append(text, byte(r))
		} else if high, low := utf16.EncodeRune(r); r > 0xFFFF {
			text = fmt.Appendf(text, `\u%04x\u%04x`, high, low)
		} else {
			text = fmt.Appendf(text, `\u%04x`, r)
		}
	}
	return append(text, '"')
}
