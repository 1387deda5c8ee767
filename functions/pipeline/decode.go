package pipeline

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stoker-ml/stoker/functions/internal/spelling"
)

// shorthand is a type with a short form.
type shorthand interface {
	long(n node) (node, error) // n itself if it is in the full form
	forms() string             // the forms allowed, for an error
}

// decode fills target, a struct with json tags, from n. Keys that are missing or null leave the
// value in target unchanged. Unknown keys, values of another type, and words and numbers that the
// jsonschema tag of the field excludes, are problems in r; decode continues with the rest.
//
// It is neither the strict decoding of goccy/go-yaml v1.19.2, which takes '1' and 1.5 for the
// integer 1 and ends at the first problem (TestStrictDecodingIsNotEnough has all reasons), nor a
// validator of JSON Schema: record 9 of infra/docs/contributing/decisions.md compares.
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
	keys := keysOf(target.Type())
	for _, f := range fields {
		path := join(key, f.key)
		if r.note(path, f.at); r.blames(path) {
			continue
		}
		i := slices.Index(keys.names, f.key)
		if i < 0 {
			r.add(path, "unknown key%s", cmp.Or(spelling.Suggestion(f.key, keys.names), ": expected one of "+strings.Join(keys.names, ", ")))
			continue
		}
		r.decode(f.node, target.Field(i), path)
		r.check(f.node, keys.rules[i], path)
	}
}

// check reports a word or a number that the rules of its key exclude.
func (r *report) check(n node, of rules, key string) {
	switch v := n.value.(type) {
	case string:
		if len(of.words) > 0 {
			r.oneOf(key, v, of.words...)
		}
	case json.Number:
		value, _ := v.Float64()
		switch {
		case value >= of.least && value <= of.most:
		case math.IsInf(of.most, 0):
			r.add(key, "expected at least %v, got %s%s", of.least, v, of.hint)
		default:
			r.add(key, "expected %v to %.0f, got %s%s", of.least, of.most, v, of.hint)
		}
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

// keys are the keys of a struct, in the order of its fields.
type keys struct {
	names []string
	rules []rules
}

// rules are what the jsonschema tag of a field says about its values.
type rules struct {
	words       []string // none: any
	least, most float64
	hint        string // "; default: 5", for the end of an error
}

var keysOfTypes sync.Map // keys by reflect.Type, which do not change

func keysOf(t reflect.Type) keys {
	if known, ok := keysOfTypes.Load(t); ok {
		return known.(keys)
	}
	var k keys
	for i := range t.NumField() {
		tag := t.Field(i).Tag
		name, _, _ := strings.Cut(tag.Get("json"), ",")
		k.names, k.rules = append(k.names, name), append(k.rules, rulesOf(tag.Get("jsonschema")))
	}
	keysOfTypes.Store(t, k)
	return k
}

// rulesOf reads a tag, of which the description is the last part.
func rulesOf(tag string) rules {
	of := rules{least: math.Inf(-1), most: math.Inf(1)}
	tag, description, _ := strings.Cut(tag, "description=")
	for rule := range strings.SplitSeq(tag, ",") {
		switch name, value, _ := strings.Cut(rule, "="); name {
		case "enum":
			of.words = append(of.words, value)
		case "minimum":
			of.least, _ = strconv.ParseFloat(value, 64)
		case "maximum":
			of.most, _ = strconv.ParseFloat(value, 64)
		case "default":
			of.hint = "; default: " + value
		}
	}
	if _, value, ok := strings.Cut(description, "Default: "); ok {
		of.hint = "; default: " + strings.ReplaceAll(value, `\,`, ",")
	}
	return of
}

func join(key, child string) string {
	if key == "" {
		return shorten(child)
	}
	return key + "." + shorten(child)
}
