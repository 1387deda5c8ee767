package pipeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// node is a value of a YAML or JSON text with its position. value is nil, bool, string,
// json.Number, []node or []field.
type node struct {
	at    position
	value any

	textLine int // of a text: how many lines below at it begins
}

type field struct {
	key  string
	at   position
	node node
}

// what returns the kind of value, for an error.
func (n node) what() string {
	switch v := n.value.(type) {
	case nil:
		return "nothing"
	case string:
		return fmt.Sprintf("text %q", shorten(v))
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return "number " + v.String()
	case []node:
		return "a list"
	default:
		return "a mapping"
	}
}

// plain returns the value without positions, for values that are passed on unparsed.
func (n node) plain() any {
	switch v := n.value.(type) {
	case []node:
		list := make([]any, len(v))
		for i, element := range v {
			list[i] = element.plain()
		}
		return list
	case []field:
		mapping := make(map[string]any, len(v))
		for _, f := range v {
			mapping[f.key] = f.node.plain()
		}
		return mapping
	default:
		return v
	}
}

// readJSON reads one JSON value, with numbers as written.
func readJSON(text []byte) (node, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return node{}, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return node{}, errors.New("more than one JSON value")
	}
	return fromPlain(value), nil
}

// fromPlain is the inverse of plain.
func fromPlain(value any) node {
	switch v := value.(type) {
	case []any:
		list := make([]node, len(v))
		for i, element := range v {
			list[i] = fromPlain(element)
		}
		return node{value: list}
	case map[string]any:
		fields := make([]field, 0, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			fields = append(fields, field{key: key, node: fromPlain(v[key])})
		}
		return node{value: fields}
	case json.Number:
		return node{value: canonicalNumber(v)}
	default:
		return node{value: v}
	}
}

// canonicalNumber writes equal numbers equally, and distinguishes 1.0 from 1, as Python does.
func canonicalNumber(n json.Number) json.Number {
	if !strings.ContainsAny(n.String(), ".eE") {
		return n
	}
	f, err := n.Float64()
	if err != nil || math.IsInf(f, 0) {
		return n
	}
	return floatNumber(f)
}

// floatNumber writes a finite number so that it reads as a float.
func floatNumber(f float64) json.Number {
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return json.Number(text)
}

// shorten limits the length of a text in an error.
func shorten(s string) string {
	const limit = 60
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "..."
}
