package module

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/functions/internal/spelling"
)

// Config decodes the custom config into a struct with json tags. Fields without a key keep their
// values. An unknown key and a value of the wrong type are errors that name the key.
func (a Assignment) Config(into any) error {
	known := Keys(into)
	for _, key := range slices.Sorted(maps.Keys(a.CustomConfig)) {
		if !slices.Contains(known, key) {
			return fmt.Errorf("custom_config: unknown key %q%s", key, cmp.Or(spelling.Suggestion(key, known), ": expected some of "+strings.Join(known, ", ")))
		}
	}
	return decode("custom_config", a.CustomConfig, into)
}

// Tuned decodes the values of the hyperparameters into a struct with json tags. Fields without a
// value keep theirs. Unknown values are ignored, because a search may vary more than one module
// reads.
func (a Assignment) Tuned(into any) error {
	values, _ := a.Hyperparameters["values"].(map[string]any) // nil without a search
	return decode("hyperparameters", values, into)
}

// Keys returns the JSON names of the fields of a struct, or of a pointer to one, in their order.
func Keys(v any) []string {
	t := reflect.TypeOf(v)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var keys []string
	for _, f := range reflect.VisibleFields(t) {
		if key := keyOf(f); key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

// keyOf returns "" for a field that encoding/json does not fill: one that is unexported, ignored,
// or an embedded struct.
func keyOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	switch {
	case !f.IsExported() || name == "-" || f.Anonymous && name == "":
		return ""
	case name == "":
		return f.Name
	}
	return name
}

// decode decodes the values that into has fields for, one at a time, so that an error can name its
// key.
func decode(what string, values map[string]any, into any) error {
	for _, key := range Keys(into) {
		value, ok := values[key]
		if !ok {
			continue
		}
		text, err := json.Marshal(map[string]any{key: value})
		if err == nil {
			err = json.Unmarshal(text, into)
		}
		if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			got := strings.TrimSuffix(strings.TrimPrefix(string(text), fmt.Sprintf("{%q:", key)), "}")
			err = fmt.Errorf("expected %s, got %s", words(fieldType(into, key), mismatch), got)
		}
		if err != nil {
			return fmt.Errorf("%s: %s: %w", what, key, err)
		}
	}
	return nil
}

func fieldType(into any, key string) reflect.Type {
	for _, f := range reflect.VisibleFields(reflect.TypeOf(into).Elem()) {
		if keyOf(f) == key {
			return f.Type
		}
	}
	return nil
}

// words describes the JSON that a field expects: a whole number, a list of numbers like [0.5]. For
// nested values it describes the part with the wrong type.
func words(t reflect.Type, mismatch *json.UnmarshalTypeError) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	_, one := wordsOf(t)
	switch {
	case one != "":
		return one
	case t.Kind() == reflect.Map && mismatch.Type == t:
		return "an object"
	case t.Kind() != reflect.Slice:
		_, one = wordsOf(mismatch.Type)
		return cmp.Or(one, "an object or a list") + " at " + mismatch.Field
	}
	if t = t.Elem(); t.Kind() == reflect.Slice {
		many, _ := wordsOf(t.Elem())
		return strings.TrimSpace("a list of lists " + many)
	}
	many, _ := wordsOf(t)
	return strings.TrimSpace("a list " + many)
}

// wordsOf returns the descriptions of values of a type, in a list and alone; "" for types that are
// not plain.
func wordsOf(t reflect.Type) (many, one string) {
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "of whole numbers like [8]", "a whole number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "of whole numbers from 0 like [8]", "a whole number from 0"
	case reflect.Float32, reflect.Float64:
		return "of numbers like [0.5]", "a number"
	case reflect.String:
		return `of strings like ["a"]`, "a string"
	case reflect.Bool:
		return "of true or false like [true]", "true or false"
	}
	return "", ""
}
