package compat

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// MembersOf lists the members that encoding/json reads into a value, as paths: events.stored is a
// member of each item of events. What writes itself (a time, a raw value) is one value; a name that
// is data is *.
func MembersOf(value any) []string {
	var all []string
	membersOf(reflect.TypeOf(value), "", true, &all)
	slices.Sort(all)
	return slices.Compact(all)
}

func membersOf(of reflect.Type, path string, top bool, all *[]string) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice && of.Elem().Kind() != reflect.Uint8 {
		of = of.Elem()
	}
	switch {
	case of.Kind() == reflect.Struct && (top || fields(of) > 0):
		for _, field := range reflect.VisibleFields(of) {
			if name, ok := memberName(field); ok {
				membersOf(field.Type, strings.TrimPrefix(path+"."+name, "."), false, all)
			}
		}
	case of.Kind() == reflect.Map:
		membersOf(of.Elem(), path+".*", false, all)
	default:
		*all = append(*all, path)
	}
}

// fields counts the members of a struct by their tags: a type like time.Time has none.
func fields(of reflect.Type) (n int) {
	for _, field := range reflect.VisibleFields(of) {
		if _, ok := memberName(field); ok && field.Tag.Get("json") != "" {
			n++
		}
	}
	return n
}

func memberName(field reflect.StructField) (name string, ok bool) {
	name, _, _ = strings.Cut(field.Tag.Get("json"), ",")
	if name == "-" || !field.IsExported() || field.Anonymous && name == "" {
		return "", false
	}
	if name == "" {
		name = field.Name
	}
	return name, true
}

// membersIn are the paths of all values in a document.
func membersIn(text []byte) map[string]bool {
	all := map[string]bool{}
	var value any
	if json.Unmarshal(text, &value) == nil {
		collect(value, "", all)
	}
	return all
}

func collect(value any, path string, all map[string]bool) {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			collect(member, strings.TrimPrefix(path+"."+name, "."), all)
		}
	case []any:
		for _, item := range v {
			collect(item, path, all)
		}
	default:
		all[path] = true
	}
}

// Holds says what of the document part is not in the document whole, with the same value.
func Holds(whole, part []byte) error {
	var all, some any
	if err := json.Unmarshal(whole, &all); err != nil {
		return fmt.Errorf("%w: %s", err, whole)
	}
	if err := json.Unmarshal(part, &some); err != nil {
		return err
	}
	return holds(all, some, "")
}

func holds(whole, part any, path string) error {
	switch some := part.(type) {
	case map[string]any:
		all, _ := whole.(map[string]any)
		for name, value := range some {
			if err := holds(all[name], value, path+"."+name); err != nil {
				return err
			}
		}
		return nil
	case []any:
		all, _ := whole.([]any)
		if len(all) != len(some) {
			return fmt.Errorf("%s: %v, was %v", path, whole, part)
		}
		for i, value := range some {
			if err := holds(all[i], value, fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
		return nil
	}
	if !reflect.DeepEqual(whole, part) {
		return fmt.Errorf("%s: %v, was %v", path, whole, part)
	}
	return nil
}
