package pipeline

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/stoker-ml/stoker/functions/internal/spelling"
)

// shorthand is a type with a short form.
type shorthand interface {
	long(n node) (node, error) // n itself if it is in the full form
	forms() string             // the forms allowed, for an error
}

// decode fills target, a struct with json tags, from n. Keys that are missing or null leave the
// value in target unchanged. Unknown keys and values of another type are problems in r; decode
// continues with the rest.
//
// The strict decoding of goccy/go-yaml v1.19.2 can't replace it: it takes '1' and 1.5 for the
// integer 1, a number or a boolean for text, an empty element of a list and merge keys; it reads
// 1e-3 as text; an error of UnmarshalText has no position; it ends at the first problem. JSON
// Schema reports all problems, but for a value with a short form it only reports that no
// alternative fits.
func (r *report) decode(n node, target reflect.Value, key string) {
	if n.value == nil {
		return
	}
	if short, ok := target.Addr().Interface().(shorthand); ok {
		long, err := short.long(n)
		if err != nil {
			r.addAt(key, err)
			return
		}
		n = long
	}
	if text, ok := target.Addr().Interface().(encoding.TextUnmarshaler); ok {
		r.decodeText(n, text, key)
		return
	}
	switch target.Kind() {
	case reflect.Struct:
		r.decodeStruct(n, target, key)
	case reflect.Pointer:
		target.Set(reflect.New(target.Type().Elem()))
		r.decode(n, target.Elem(), key)
	case reflect.Slice:
		r.decodeList(n, target, key)
	case reflect.Map:
		r.decodeMap(n, target, key)
	case reflect.String:
		r.decodeString(n, target, key)
	case reflect.Int, reflect.Int64:
		r.decodeInt(n, target, key)
	case reflect.Float64:
		r.decodeFloat(n, target, key)
	default:
		panic(fmt.Sprintf("pipeline: a %s can't be decoded from a file", target.Type()))
	}
}

func (r *report) decodeStruct(n node, target reflect.Value, key string) {
	fields, ok := n.value.([]field)
	if !ok {
		r.add(key, "expected %s, got %s", formsOf(target), n.what())
		return
	}
	index, names := fieldsOf(target.Type())
	for _, f := range fields {
		path := join(key, f.key)
		if r.note(path, f.at); r.blames(path) {
			continue
		}
		i, known := index[f.key]
		if !known {
			r.add(path, "unknown key%s", cmp.Or(spelling.Suggestion(f.key, names), ": expected one of "+strings.Join(names, ", ")))
			continue
		}
		r.decode(f.node, target.Field(i), path)
	}
}

func formsOf(target reflect.Value) string {
	if short, ok := target.Addr().Interface().(shorthand); ok {
		return short.forms()
	}
	return "a mapping"
}

func (r *report) decodeText(n node, target encoding.TextUnmarshaler, key string) {
	text, ok := n.value.(string)
	if !ok {
		text, ok = plainWord(n)
	}
	if !ok {
		r.add(key, "expected text, got %s", n.what())
		return
	}
	if err := target.UnmarshalText([]byte(text)); err != nil {
		r.add(key, "%v", err)
	}
}

// plainWord returns, as it was written, a word that YAML parsed as a number or a boolean.
func plainWord(n node) (string, bool) {
	switch v := n.value.(type) {
	case json.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

func (r *report) decodeList(n node, target reflect.Value, key string) {
	list, ok := n.value.([]node)
	if !ok {
		r.add(key, "expected a list, got %s", n.what())
		return
	}
	out := reflect.MakeSlice(target.Type(), len(list), len(list))
	for i, element := range list {
		path := fmt.Sprintf("%s[%d]", key, i)
		r.note(path, element.at)
		if element.value == nil {
			r.add(path, "expected a value, got nothing")
		}
		r.decode(element, out.Index(i), path)
	}
	target.Set(out)
}

func (r *report) decodeMap(n node, target reflect.Value, key string) {
	mapping, ok := n.plain().(map[string]any)
	if !ok {
		r.add(key, "expected a mapping, got %s", n.what())
		return
	}
	r.noteAll(n, key)
	target.Set(reflect.ValueOf(mapping))
}

// noteAll records the positions of the keys of a mapping that is passed on unparsed.
func (r *report) noteAll(n node, key string) {
	fields, _ := n.value.([]field)
	for _, f := range fields {
		path := join(key, f.key)
		r.note(path, f.at)
		r.noteAll(f.node, path)
	}
}

func (r *report) decodeString(n node, target reflect.Value, key string) {
	text, ok := n.value.(string)
	if !ok {
		r.add(key, "expected text, got %s", n.what())
		return
	}
	target.SetString(text)
}

func (r *report) decodeInt(n node, target reflect.Value, key string) {
	number, _ := n.value.(json.Number)
	value, err := strconv.ParseInt(number.String(), 10, 64)
	if err != nil {
		r.add(key, "expected a whole number, got %s", n.what())
		return
	}
	target.SetInt(value)
}

func (r *report) decodeFloat(n node, target reflect.Value, key string) {
	number, _ := n.value.(json.Number)
	value, err := number.Float64()
	if err != nil {
		r.add(key, "expected a number, got %s", n.what())
		return
	}
	target.SetFloat(value)
}

// note records the position of a key.
func (r *report) note(key string, at position) {
	if at != (position{}) {
		r.places[key] = at
	}
}

// fieldsOf returns a struct's keys: their fields by index, and their names in order.
func fieldsOf(t reflect.Type) (index map[string]int, names []string) {
	index = make(map[string]int, t.NumField())
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		index[name] = i
		names = append(names, name)
	}
	return index, names
}

func join(key, child string) string {
	if key == "" {
		return shorten(child)
	}
	return key + "." + shorten(child)
}
