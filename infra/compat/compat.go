// Package compat helps to test formats that outlive a version: entries of key-value buckets,
// documents in the store, logs, files of settings. Each package keeps what earlier versions wrote
// in testdata/frozen, one file for each change of a format. Every later version must read all of
// them, and write them again without losing a member.
//
// Read Format first.
package compat

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// dir holds the frozen files of a package. Its file sums has the SHA-256 of each, in the format of
// sha256sum.
const dir = "testdata/frozen"

// Format is one kind of document. Its files are testdata/frozen/<Name>.<what>.json.
type Format struct {
	Name string
	Of   any // the zero value of the type that is read: its members are the format's

	// Again reads a document and writes it again, as this version does.
	Again func(text []byte) ([]byte, error)
}

// Check fails unless every file of the format is unchanged, can be read, and is written again
// completely, and unless all of them together have every member of the format. So a new member
// needs a file, and a member that is removed makes an older file fail: documents in a bus or a
// store could no longer be read.
func (f Format) Check(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, f.Name+".*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: nothing is frozen: %v", f.Name, err)
	}
	var texts [][]byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		Unchanged(t, file)
		now, err := f.Again(text)
		if err == nil {
			err = Holds(now, text)
		}
		if err != nil {
			t.Errorf("%s: %v\nwhat is frozen was written by an earlier version, and stays: the change is wrong, not the file", file, err)
		}
		texts = append(texts, text)
	}
	Complete(t, f.Name, f.Of, texts...)
}

// Complete fails unless the frozen documents of one format together have every member of a type,
// and no other.
func Complete(t *testing.T, name string, of any, texts ...[]byte) {
	t.Helper()
	had := map[string]bool{}
	for _, text := range texts {
		maps.Copy(had, membersIn(text))
	}
	known := MembersOf(of)
	for _, member := range known {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(had)), func(path string) bool { return covers(member, path) }) {
			t.Errorf("%s: no file in %s has %s: freeze what this version writes as %s.<what it is about>.json, in the same directory, and add it to %s/sums (`go generate` of the package does so, if it has a directive)",
				name, dir, member, name, dir)
		}
	}
	for member := range had {
		// Or its short form.
		if !slices.ContainsFunc(known, func(k string) bool { return covers(k, member) || covers(member, k) }) {
			t.Errorf("%s: %s is frozen, and this version doesn't know it", name, member)
		}
	}
}

// covers reports whether a path leads to a member or into its value.
func covers(member, path string) bool {
	names, at := strings.Split(member, "."), strings.Split(path, ".")
	if len(at) < len(names) {
		return false
	}
	for i, name := range names {
		if name != at[i] && name != "*" {
			return false
		}
	}
	return true
}

// Unchanged fails if a file was changed since it was frozen.
func Unchanged(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(dir, "sums"))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	line := hex.EncodeToString(sum[:]) + "  " + filepath.Base(file)
	if !slices.Contains(strings.Split(string(sums), "\n"), line) {
		t.Errorf("%s is not as it was frozen: leave it, and add another file; for a new one the line in %s/sums is\n%s", file, dir, line)
	}
}

// MembersOf lists the members that encoding/json reads into a value, as paths: events.stored is a
// member of each item of events. A type with its own MarshalJSON (a time, a raw value) is one
// value; a key of a map is *.
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

// membersIn returns the paths of all values in a document.
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

// Holds returns an error for what of the document part is not in the document whole with the same
// value.
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
