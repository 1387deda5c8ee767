package compat

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
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

	// Again reads a document as this version does, and writes it as this version does.
	Again func(text []byte) ([]byte, error)
}

// Check wants of every file of the format that it is unchanged, read, and written again with
// nothing missing; and of all of them together that they have every member of the format. So a
// member that comes to the format needs a file, and one that goes leaves one that fails: what is in
// a bus or a store by then could not be read any more.
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

// Complete wants of documents of one format, which are frozen, that together they have every member
// that a type has, and no other.
func Complete(t *testing.T, name string, of any, texts ...[]byte) {
	t.Helper()
	had := map[string]bool{}
	for _, text := range texts {
		maps.Copy(had, membersIn(text))
	}
	known := MembersOf(of)
	for _, member := range known {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(had)), func(path string) bool { return covers(member, path) }) {
			t.Errorf("%s: no file in %s has %s: freeze what this version writes as %s.<what it is about>.json, in the same directory, and add it to %s/sums",
				name, dir, member, name, dir)
		}
	}
	for member := range had {
		if !slices.ContainsFunc(known, func(k string) bool { return covers(k, member) || covers(member, k) }) { // or its short form
			t.Errorf("%s: %s is frozen, and this version doesn't know it", name, member)
		}
	}
}

// covers says whether a path leads to a member, or into what it holds.
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

// Unchanged wants a file to be as it was when it was frozen.
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
